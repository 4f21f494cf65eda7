package registrytest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// servers are the registries that have to behave alike for clients.
var servers = []struct {
	name  string
	start func(testing.TB, Options) *Server
	o     Options
}{
	{"memory", New, Options{}},
	{"memory TLS", New, Options{TLS: true}},
	{"process", Start, Options{}},
	{"process TLS", Start, Options{TLS: true}},
	{"process basic", Start, Options{Auth: BasicAuth}},
	{"process token", Start, Options{Auth: TokenAuth}},
	{"process token TLS", Start, Options{TLS: true, Auth: TokenAuth}},
}

func TestPushAndPull(t *testing.T) {
	t.Parallel()
	want, err := AttestedIndex("push-and-pull")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range servers {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := tc.start(t, tc.o)
			c := s.Client()
			d, err := c.Push(t.Context(), "org/app", "v1", want)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"v1", d.String()} {
				got, err := c.Pull(t.Context(), "org/app", name)
				if err != nil {
					t.Fatal(err)
				}
				if got.Digest != d || got.Manifests != 4 || got.Blobs < 8 {
					t.Errorf("pulled %+v, want digest %s, 4 manifests and at least 8 blobs", got, d)
				}
			}
			if _, err := c.Pull(t.Context(), "org/app", "v2"); err == nil {
				t.Error("pulling a tag that was not pushed succeeded")
			}
		})
	}
}

func TestCredentialsAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, auth := range []Auth{BasicAuth, TokenAuth} {
		s := Start(t, Options{Auth: auth})
		for _, pass := range []string{"", "wrong"} {
			c := s.Client()
			if c.password = pass; pass == "" {
				c.username = ""
			}
			if _, err := c.Pull(t.Context(), "org/app", "v1"); err == nil || !strings.Contains(err.Error(), "401") && !strings.Contains(err.Error(), "credentials") {
				t.Errorf("auth %d with password %q: %v, want to be refused", auth, pass, err)
			}
		}
		text, err := os.ReadFile(s.AuthFile)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Auths map[string]struct{ Auth []byte }
		}
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		if got := string(file.Auths[s.Host].Auth); got != s.Username+":"+s.Password {
			t.Errorf("auth file has %q for %s", got, s.Host)
		}
	}
}

// TestTokenLifetime checks that an expired token is refused despite the leeway of the registry.
func TestTokenLifetime(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Auth: TokenAuth, TokenLifetime: time.Hour})
	ca, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.process.tokenRoots, ca.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Restart() // this also makes it trust the tokens that this test signs
	ts, err := newTokenServer(ca, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]int{30 * time.Second: http.StatusNotFound, 90 * time.Second: http.StatusUnauthorized} {
		token, err := ts.token([]string{"repository:org/app:pull"}, time.Now().Add(-age))
		if err != nil {
			t.Fatal(err)
		}
		c := s.Client()
		c.tokens["org/app"] = token
		resp, err := c.send(t.Context(), request{method: http.MethodGet, repository: "org/app", path: "manifests/v1"})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a token of a minute's life, %s old: %s, want %d", age, resp.Status, want)
		}
	}
}

func TestPrivateCA(t *testing.T) {
	t.Parallel()
	s := New(t, Options{TLS: true})
	get := func(roots *x509.CertPool) error {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.Host+"/v2/", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	if err := get(nil); err == nil {
		t.Error("the system's roots trust the test's CA")
	}
	for _, file := range []string{s.CAFile, filepath.Join(s.CertDir, s.Host, "ca.crt")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			t.Fatalf("%s has no certificate", file)
		}
		if err := get(roots); err != nil {
			t.Errorf("with %s: %v", file, err)
		}
	}
}

func TestRestartKeepsContentAndAddress(t *testing.T) {
	t.Parallel()
	img, err := Image("restart")
	if err != nil {
		t.Fatal(err)
	}
	s := Start(t, Options{Alone: true})
	c, host := s.Client(), s.Host
	if _, err := c.Push(t.Context(), "org/app", "v1", img); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	if _, err := c.Pull(t.Context(), "org/app", "v1"); err != nil || s.Host != host {
		t.Errorf("after a restart at %s (was %s): %v", s.Host, host, err)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	img, err := BundleImage("thing", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	s := Start(t, Options{Auth: TokenAuth})
	c := s.Client()
	if _, err := c.Push(t.Context(), "org/app", "v1", img); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"HEAD blob": 3, // the first is refused
		"GET token": 1, "POST upload": 2, "PUT upload": 2, "PUT manifest": 2,
	}
	if diff := cmp.Diff(want, s.Requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	s.ResetLog()
	d, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.do(t.Context(), request{
		method: http.MethodPost, repository: "org/other",
		path: "blobs/uploads/?mount=" + d.String() + "&from=org/app",
	}, http.StatusCreated, http.StatusAccepted)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if n := s.Requests()["POST mount"]; n == 0 {
		t.Errorf("requests %v, want a mount", s.Requests())
	}
	if log := s.Log(); log[0].Status != http.StatusUnauthorized {
		t.Errorf("the first answer was %d, want 401", log[0].Status)
	}
}

func TestProgramIsPinned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, want := range map[string]string{
		"require (\n\tgithub.com/distribution/distribution/v3 v3.1.2\n)": "v3.1.2",
		"require github.com/distribution/distribution/v3 v3.0.0-rc.1":    "v3.0.0-rc.1",
		"require github.com/distribution/distribution/v30 v3.1.2":        "",
	} {
		file := filepath.Join(dir, "go.mod")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := pinnedVersion(file); got != want || (err == nil) != (want != "") {
			t.Errorf("pinnedVersion(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestCancelledPull(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(t, Options{}).Client().Pull(ctx, "org/app", "v1"); err == nil {
		t.Error("a pull with a cancelled context succeeded")
	}
}

// TestStorage checks that a registry begins with the content that another one kept, and that
// changes to it do not affect other registries.
func TestStorage(t *testing.T) {
	img, err := SizedImage("kept", 1000)
	if err != nil {
		t.Fatal(err)
	}
	first := Start(t, Options{Alone: true})
	want, err := first.Client().Push(t.Context(), "a/b", "v1", img)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := first.Keep()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(kept) })
	second, third := Start(t, Options{Storage: kept}), Start(t, Options{Storage: kept})
	other, err := SizedImage("other", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Client().Push(t.Context(), "a/b", "v1", other); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Server{first, third} {
		got, err := s.Client().Pull(t.Context(), "a/b", "v1")
		if err != nil || got.Digest != want {
			t.Errorf("a/b:v1 is %s, want %s: %v", got.Digest, want, err)
		}
	}
}
