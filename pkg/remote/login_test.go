package remote_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/keychain"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

func TestLogin(t *testing.T) {
	right, wrong := keychain.Credential{Username: "me", Password: "s3cret"}, keychain.Credential{Username: "me", Password: "wrong"}
	tokens := &tokenServer{expires: 60, valid: map[string]int{}}
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, tc := range map[string]struct {
		registry http.Handler
		cred     keychain.Credential
		asked    bool
		err      error
		says     []string
	}{
		"open":                {registry: ok, cred: right},
		"basic":               {registry: basicOnly(right.Password), cred: right, asked: true},
		"basic, wrong":        {registry: basicOnly(right.Password), cred: wrong, asked: true, err: remote.ErrUnauthorized, says: []string{"logging in at"}},
		"basic, anonymous":    {registry: basicOnly(right.Password), asked: true, err: remote.ErrUnauthorized, says: []string{"--authfile"}},
		"token":               {registry: tokens.wrap(ok), cred: right, asked: true},
		"token, wrong":        {registry: tokens.wrap(ok), cred: wrong, asked: true, err: remote.ErrUnauthorized},
		"not a registry":      {registry: http.NotFoundHandler(), cred: right, err: remote.ErrNotFound},
		"forbidden, no scope": {registry: forbidding(), cred: right, asked: true, err: remote.ErrUnauthorized, says: []string{"403"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tc.registry)
			defer s.Close()
			c := newClient(t, remote.Options{Side: remote.Alone, Keychain: keys(tc.cred), PlainHTTP: true})
			asked, err := c.Login(t.Context(), strings.TrimPrefix(s.URL, "http://"), "org")
			if asked != tc.asked || !errors.Is(err, tc.err) {
				t.Fatalf("Login = %v, %v; want %v, %v", asked, err, tc.asked, tc.err)
			}
			for _, word := range tc.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v does not say %s", err, word)
				}
			}
			if err != nil && (strings.Contains(err.Error(), "password wrong") || strings.Contains(err.Error(), right.Password)) {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
	// A login asks for nothing in particular.
	want := []string{"GET|me|the service"}
	if diff := cmp.Diff(want, tokens.asked); diff != "" {
		t.Errorf("tokens that were asked for: %s", diff)
	}
}

func basicOnly(password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, p, _ := r.BasicAuth(); p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
}

func forbidding() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
}

// Whoever was met is not asked again how it is spoken to, and a meeting that is
// broken off leaves no trace.
func TestMeet(t *testing.T) {
	var pings, others atomic.Int64
	s := startRegistry(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, ok := r.BasicAuth(); r.URL.Path == "/v2/" {
				pings.Add(1)
				if ok {
					t.Error("the password was shown")
				}
			} else {
				others.Add(1)
				w.WriteHeader(http.StatusNotFound)
			}
		})
	})
	c := newClient(t, remote.Options{Side: remote.Destination, Keychain: keys{Username: "me", Password: "pw"}})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.Meet(ended, repoAt(s, "org"))
	if pings.Load() != 0 {
		t.Error("a registry was met though the run had ended")
	}
	c.Meet(t.Context(), repoAt(s, "org"))
	if pings.Load() != 1 || others.Load() != 0 {
		t.Errorf("%d pings and %d other requests, want one ping", pings.Load(), others.Load())
	}
	if _, ok, err := c.ManifestExists(t.Context(), repoAt(s, "org/name").WithTag("v1")); ok || err != nil {
		t.Errorf("ManifestExists = %t, %v", ok, err)
	}
	if pings.Load() != 1 || others.Load() != 1 {
		t.Errorf("%d pings and %d other requests, want one each", pings.Load(), others.Load())
	}
}
