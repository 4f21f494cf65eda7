package doctor

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

func TestConnection(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	until := func(d time.Duration) []*x509.Certificate {
		return []*x509.Certificate{{DNSNames: []string{"mirror.example.com"}, Issuer: pkix.Name{CommonName: "CA"}, NotAfter: now.Add(d)}}
	}
	const day = 24 * time.Hour
	for _, tc := range []struct {
		what    string
		contact remote.Contact
		name    string
		state   State
		words   string
	}{
		{"a proxy", remote.Contact{Scheme: "https", Proxy: "http://proxy.example.com:3128"}, "connection", OK, "through the proxy http://proxy.example.com:3128"},
		{"plain HTTP", remote.Contact{Scheme: "http"}, "encryption", Warning, "plain HTTP"},
		{"a CA of the system", remote.Contact{Scheme: "https", Chain: until(90 * day), Verified: true}, "encryption", OK, "by a CA of the system"},
		{"an unverified chain", remote.Contact{Scheme: "https", Chain: until(90 * day)}, "encryption", Warning, "not verified"},
		{"a valid certificate", remote.Contact{Scheme: "https", Chain: until(90 * day)}, "expiry", OK, "until 2027-02-21, 90 days"},
		{"a certificate that expires soon", remote.Contact{Scheme: "https", Chain: until(10 * day)}, "expiry", Warning, "10 days"},
		{"an expired certificate", remote.Contact{Scheme: "https", Chain: until(-2 * day)}, "expiry", Problem, "expired on 2026-11-21"},
		{"equal clocks", remote.Contact{Date: now.Add(-time.Second)}, "difference", OK, "by 1s"},
		{"a clock behind", remote.Contact{Date: now.Add(time.Hour)}, "difference", Warning, "1h0m0s behind"},
		{"a clock ahead", remote.Contact{Date: now.Add(-time.Hour)}, "difference", Warning, "1h0m0s ahead of"},
		{"no clock", remote.Contact{}, "difference", Skipped, "does not send"},
		{"limits", remote.Contact{Limits: map[string]string{"RateLimit-Limit": "100;w=21600"}}, "limits of requests", Warning, `RateLimit-Limit: "100;w=21600"`},
	} {
		tc.contact.Received = now
		found := false
		for _, f := range Connection(&tc.contact) {
			if f.Name == tc.name {
				found = true
				if f.State != tc.state || !strings.Contains(f.Text, tc.words) {
					t.Errorf("%s: %+v, want %s with %q", tc.what, f, tc.state, tc.words)
				}
			}
		}
		if !found {
			t.Errorf("%s: no finding %q", tc.what, tc.name)
		}
	}
}

func TestWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	slow := func() time.Time { now = now.Add(time.Second); return now }
	states := map[string]State{}
	for _, f := range Workspace(filepath.Join(dir, "not", "there"), slow) {
		states[f.Name] = f.State
	}
	if states["writing"] != Warning || states["free space"] == Problem {
		t.Errorf("a slow disk: %v", states)
	}
	if left, err := filepath.Glob(dir + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if left, err := filepath.Glob(dir + "/.*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
