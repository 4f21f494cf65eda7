package remote_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A realmServer issues tokens, and records the credentials that it is sent.
type realmServer struct {
	redirect string // where it sends clients, "" for nowhere

	mu   sync.Mutex
	sent []string
}

func (s *realmServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := r.FormValue("refresh_token")
	s.sent = append(s.sent, r.Header.Get("Authorization")+body)
	if s.redirect != "" {
		http.Redirect(w, r, s.redirect, http.StatusTemporaryRedirect)
		return
	}
	_, _ = w.Write([]byte(`{"token":"t"}`))
}

// TestRealmOfTLSRegistry checks that no request goes to a realm without TLS that a registry with TLS names, at the same or
// another host, directly or by a redirect of a realm with TLS.
func TestRealmOfTLSRegistry(t *testing.T) {
	ours := newAuthority(t, "Our CA")
	dir := t.TempDir()
	write(t, ours.pem, dir, "ca.crt")
	plain := &realmServer{}
	unsafe := httptest.NewServer(plain)
	t.Cleanup(unsafe.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(unsafe.URL, "http://"), ":")
	secure := startTLS(t, ours, nil)
	moved := &realmServer{redirect: unsafe.URL + "/token"}
	secure.Config.Handler = moved
	good := startTLS(t, ours, nil)
	safe := &realmServer{}
	good.Config.Handler = safe
	for name, tc := range map[string]struct {
		realm string
		ok    bool
	}{
		"another host": {realm: "http://localhost:" + port + "/token"},
		"another port": {realm: unsafe.URL + "/token"},
		"a redirect":   {realm: secure.URL + "/token"},
		"with TLS":     {realm: good.URL + "/token", ok: true},
	} {
		for kind, cred := range map[string]keys{"password": {Username: "u", Password: "s3cret"}, "identity token": {IdentityToken: "s3cret"}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				registry := startTLS(t, ours, nil)
				registry.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Authorization") != "Bearer t" {
						w.Header().Set("WWW-Authenticate", `Bearer realm="`+tc.realm+`",service="s"`)
						w.WriteHeader(http.StatusUnauthorized)
					}
				})
				c := newClient(t, remote.Options{CertDir: dir, Keychain: cred, Clock: newClock()})
				_, err := c.BlobExists(t.Context(), repoAt(registry, "a"), describe([]byte("x")))
				switch {
				case tc.ok && err != nil:
					t.Error(err)
				case !tc.ok && err == nil, !tc.ok && kind == "password" && !errors.Is(err, remote.ErrRefused):
					t.Errorf("got %v", err)
				case err != nil && strings.Contains(advice.Text(err), "s3cret"):
					t.Errorf("the error shows a secret: %v", err)
				}
			})
		}
	}
	if len(plain.sent) > 0 {
		t.Errorf("the realm without TLS was sent %q", plain.sent)
	}
	if len(safe.sent) != 2 || len(moved.sent) == 0 {
		t.Errorf("the realms with TLS were sent %q and %q", safe.sent, moved.sent)
	}
}
