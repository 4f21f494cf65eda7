package doctor

import (
	"bytes"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
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
		{"a certificate that expired an hour ago", remote.Contact{Scheme: "https", Chain: until(-time.Hour)}, "expiry", Problem, "expired on 2026-11-23"},
		{"the first certificate to expire", remote.Contact{Scheme: "https", Chain: append(until(90*day), &x509.Certificate{Subject: pkix.Name{CommonName: "CA"}, NotAfter: now.Add(day)})}, "expiry", Warning, "CN=CA"},
		{"an address", remote.Contact{Scheme: "https", Chain: []*x509.Certificate{{IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}, NotAfter: now}}}, "encryption", Warning, "192.0.2.1"},
		{"a CA of a folder", remote.Contact{Scheme: "https", Chain: until(day), Verified: true, TrustedBy: "/etc/ca"}, "encryption", OK, "by a CA in /etc/ca"},
		{"no certificates", remote.Contact{Scheme: "https", TLS: "TLS 1.3"}, "encryption", Warning, "TLS 1.3, without certificates"},
		{"no authentication", remote.Contact{Scheme: "http", Address: "mirror.example.com"}, "connection", OK, "reached at http://mirror.example.com directly; it does not ask"},
		{"tokens", remote.Contact{Scheme: "http", Authentication: "Bearer"}, "connection", OK, "it asks for credentials (Bearer)"},
		{"no limits", remote.Contact{}, "limits of requests", OK, "none announced"},
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

// newClient returns a client that knows nothing about registries yet.
func newClient(t *testing.T) *remote.Client {
	t.Helper()
	client, err := remote.New(remote.Options{Side: remote.Destination, PlainHTTP: true, CertDirs: []string{}, Retry: remote.Retry{Times: -1}})
	fail.On(t, err)
	t.Cleanup(client.Close)
	return client
}

// TestAbilities checks what is found out about a registry that has each ability, and about one that refuses a request.
func TestAbilities(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t, registrytest.Options{})
	at := reference.Reference{Host: s.Host, Path: "site/probe"}
	examined := func(rules ...registrytest.Rule) map[string]Finding {
		t.Helper()
		s.Script(rules...)
		all, err := Abilities(t.Context(), newClient(t), at)
		fail.On(t, err)
		found := map[string]Finding{}
		for _, f := range all {
			found[f.Name] = f
		}
		return found
	}
	states := map[string]State{
		"push": OK, "OCI media types": OK, "read back": OK, "nested paths": OK, "mount": OK, "sparse indexes": Warning, "referrers": OK, "large manifests": OK,
		"uploads in parts": OK, "digests of uploads": OK, "list of repositories": OK, "deletion": OK,
	}
	found := examined()
	for name, want := range states {
		if f := found[name]; f.State != want {
			t.Errorf("%s: %+v, want %s", name, f, want)
		}
	}
	if f := found["list of repositories"]; !strings.HasSuffix(f.Text, " repositories") {
		t.Errorf("%+v", f)
	}
	left, err := s.Repositories("site")
	for _, r := range left {
		if err != nil || len(r.Tags) > 0 {
			t.Errorf("%s has the tags %v, %v", r.Name, r.Tags, err)
		}
	}

	refuse := func(method, path string) registrytest.Rule {
		return registrytest.Rule{Method: method, Path: path, Action: registrytest.Refuse(http.StatusBadRequest, "UNSUPPORTED")}
	}
	// manifests refuses manifests that contain a text.
	manifests := func(text string) registrytest.Rule {
		return registrytest.Rule{Method: http.MethodPut, Path: "/manifests/", Action: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			body, err := io.ReadAll(r.Body)
			if err != nil || strings.Contains(string(body), text) {
				registrytest.Refuse(http.StatusBadRequest, "MANIFEST_INVALID")(w, r, next)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		}}
	}
	for _, tc := range []struct {
		name  string
		rule  registrytest.Rule
		state State
		words string
	}{
		{"OCI media types", manifests(probeType), Problem, "an OCI artifact is refused"},
		{"read back", registrytest.Rule{Method: http.MethodHead, Path: "/probe/manifests/sha256", Action: registrytest.Status(http.StatusNotFound)}, Problem, "does not have it"},
		{"nested paths", refuse("", "/probe/a/"), Warning, "more path components"},
		{"referrers", manifests("gantry probe referrer"), Warning, "an artifact with a subject is refused"},
		{"large manifests", manifests("com.example.padding"), Warning, "a manifest of 4 MiB is refused"},
		{"list of repositories", refuse(http.MethodGet, "/_catalog"), OK, "not available"},
		{"deletion", refuse(http.MethodDelete, "/manifests/"), Warning, "the registry deletes nothing"},
		{"mount", registrytest.Rule{Method: http.MethodPost, Path: "/blobs/uploads/", Action: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.URL.RawQuery = ""
			next.ServeHTTP(w, r)
		}}, Warning, "are sent to each"},
		{"referrers", registrytest.Rule{Method: http.MethodGet, Path: "/referrers/", Action: func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
			_, _ = io.WriteString(w, `{"schemaVersion": 2, "manifests": []}`)
		}}, Warning, "does not list it"},
		{"uploads in parts", refuse(http.MethodPatch, "/blobs/uploads/"), Warning, "have to be sent in one request"},
		{"digests of uploads", registrytest.Rule{Method: http.MethodPut, Path: "/blobs/uploads/", Action: registrytest.Status(http.StatusCreated)}, Warning, "nothing proves"},
	} {
		if f := examined(tc.rule)[tc.name]; f.State != tc.state || !strings.Contains(f.Text, tc.words) {
			t.Errorf("%s: %+v, want %s with %q", tc.name, f, tc.state, tc.words)
		}
	}
	// A registry that is gone in the middle has no abilities, and neither has one without uploads.
	gone := registrytest.Rule{Method: http.MethodPut, Path: "/manifests/", Action: registrytest.Reset()}
	s.Script(gone)
	if all, err := Abilities(t.Context(), newClient(t), at); !errors.Is(err, remote.ErrUnreachable) || len(all) > 1 {
		t.Errorf("gone: %+v, %v", all, err)
	}
	s.Script(refuse(http.MethodPost, "/blobs/uploads/"))
	if all, err := Abilities(t.Context(), newClient(t), at); err == nil || len(all) > 0 {
		t.Errorf("without uploads: %+v, %v", all, err)
	}
}

// TestDockerOnly checks a registry that knows no OCI manifests: the probe goes on with those of Docker. A probe that is
// canceled ends with the reason.
func TestDockerOnly(t *testing.T) {
	t.Parallel()
	if registrytest.Uses("ociregistry") {
		t.Skip("it accepts lists of images that it does not have")
	}
	s := registrytest.Start(t, registrytest.Options{})
	client, at := newClient(t), reference.Reference{Host: s.Host, Path: "site/probe"}
	s.Script(registrytest.Rule{Method: http.MethodPut, Path: "/manifests/", Action: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.Contains(r.Header.Get("Content-Type"), "vnd.oci.") {
			registrytest.Refuse(http.StatusBadRequest, "MANIFEST_INVALID")(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}})
	all, err := Abilities(t.Context(), client, at)
	fail.On(t, err)
	got := map[string]State{}
	for _, f := range all {
		got[f.Name] = f.State
	}
	fail.Diff(t, map[string]State{
		"push": OK, "OCI media types": Problem, "read back": OK, "nested paths": OK, "mount": OK, "sparse indexes": Warning, "referrers": Warning,
		"uploads in parts": OK, "digests of uploads": OK, "list of repositories": OK, "deletion": OK,
	}, got)
	left, err := s.Repositories("site")
	for _, r := range left {
		if err != nil || len(r.Tags) > 0 {
			t.Errorf("%s has the tags %v, %v", r.Name, r.Tags, err)
		}
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := Abilities(ctx, client, at); !errors.Is(err, stopped) {
		t.Errorf("a canceled probe: %v", err)
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

// TestUnusableWorkspace checks a workspace below a file, and the advice for file systems.
func TestUnusableWorkspace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	fail.On(t, os.WriteFile(file, nil, 0o600))
	if all := Workspace(filepath.Join(file, "ws"), time.Now); len(all) != 1 || all[0].State != Problem || all[0].Remedy == "" {
		t.Errorf("%+v", all)
	}
	if _, err := syncFile(filepath.Join(file, "ws"), time.Now); err == nil {
		t.Error("a file was written below a file")
	}
	for kind, want := range map[string]State{"ext4": OK, "nfs": Warning, "vfat": Warning, "tmpfs": Warning} {
		if f := adviseFileSystem(kind); f.State != want || (f.Remedy == "") != (want == OK) || f.Text != kind {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}
