package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
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
		"basic, anonymous":    {registry: basicOnly(right.Password), asked: true, err: remote.ErrUnauthorized, says: []string{"Options.AuthFile"}},
		"token":               {registry: tokens.wrap(ok), cred: right, asked: true},
		"token, wrong":        {registry: tokens.wrap(ok), cred: wrong, asked: true, err: remote.ErrUnauthorized},
		"not a registry":      {registry: http.NotFoundHandler(), cred: right, err: remote.ErrUnreachable, says: []string{"no /v2/"}},
		"forbidden, no scope": {registry: forbidding(), cred: right, asked: true, err: remote.ErrUnauthorized, says: []string{"403"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(tc.registry)
			defer s.Close()
			c := newClient(t, remote.Options{Side: remote.Single, Keychain: keys(tc.cred), PlainHTTP: true})
			asked, err := c.Login(t.Context(), strings.TrimPrefix(s.URL, "http://"), "org")
			if asked != tc.asked || !errors.Is(err, tc.err) {
				t.Fatalf("Login = %v, %v; want %v, %v", asked, err, tc.asked, tc.err)
			}
			for _, word := range tc.says {
				if !strings.Contains(advice.Text(err), word) {
					t.Errorf("%v does not say %s", err, word)
				}
			}
			if err != nil && (strings.Contains(advice.Text(err), "password wrong") || strings.Contains(advice.Text(err), right.Password)) {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
	// A login requests a token without a scope.
	want := []string{"GET|me|the service"}
	fail.Diff(t, want, tokens.asked)
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

// TestCheckAccess checks that a credential is sent once, that only its refusal is an error, and that
// later requests do not probe again.
func TestCheckAccess(t *testing.T) {
	t.Parallel()
	right := keychain.Credential{Username: "ci", Password: "s3cret", Source: "auth.json"}
	wrong := keychain.Credential{Username: "ci", Password: "wrong", Source: "auth.json"}
	tokens := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, password, _ := r.BasicAuth()
			switch {
			case r.URL.Path == "/token" && password == right.Password:
				fmt.Fprint(w, `{"token":"t"}`)
			case r.URL.Path == "/token":
				w.WriteHeader(code)
			default:
				w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q", "http://"+r.Host+"/token"))
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
	}
	for name, tc := range map[string]struct {
		registry http.Handler
		cred     keychain.Credential
		requests int64
		refused  bool
		unusable bool
	}{
		"open":                 {registry: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), cred: right, requests: 1},
		"basic":                {registry: basicOnly(right.Password), cred: right, requests: 2},
		"basic, wrong":         {registry: basicOnly(right.Password), cred: wrong, requests: 2, refused: true},
		"basic, anonymous":     {registry: basicOnly(right.Password), requests: 1},
		"basic, no permission": {registry: forbidding(), cred: right, requests: 2},
		"token":                {registry: tokens(401), cred: right, requests: 2},
		"token, wrong":         {registry: tokens(401), cred: wrong, requests: 2, refused: true},
		"token, busy":          {registry: tokens(503), cred: wrong, requests: 2},
		"token, a page":        {registry: tokens(200), cred: wrong, requests: 2, unusable: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				tc.registry.ServeHTTP(w, r)
			})
			c := newClient(t, remote.Options{Side: remote.Destination, Keychain: keys(tc.cred), PlainHTTP: true})
			ref := reference.Reference{Host: strings.TrimPrefix(s.URL, "http://"), Path: "ocp"}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := c.CheckAccess(ended, ref, false); err != nil || requests.Load() != 0 {
				t.Errorf("after the run has ended: %v, %d requests", err, requests.Load())
			}
			err := c.CheckAccess(t.Context(), ref, false)
			fail.Diff(t, tc.requests, requests.Load())
			if tc.unusable {
				if err == nil || !strings.Contains(advice.Text(err), "check the token service "+ref.Host+"/token") {
					t.Error(err)
				}
				return
			}
			if !tc.refused {
				fail.On(t, err)
				return
			}
			text := advice.Text(err)
			if !errors.Is(err, remote.ErrUnauthorized) || !strings.HasPrefix(text, `the mirror refused the password for user "ci": `) ||
				!strings.HasSuffix(text, "; run gantry registry login "+ref.Host+", or set Options.Destination.AuthFile; the refused credentials are from auth.json") || strings.Contains(text, wrong.Password) {
				t.Errorf("%s", text)
			}
		})
	}
}

// narrowKeys has another credential for each repository.
type narrowKeys struct{ keys }

func (narrowKeys) Narrower(string, string) bool { return true }

// A credential that may not be used for any repository is not sent.
func TestCheckAccessOfRepositories(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(basicOnly("s3cret"))
	t.Cleanup(s.Close)
	c := newClient(t, remote.Options{Side: remote.Destination, Keychain: narrowKeys{keys{Username: "old", Password: "wrong"}}, PlainHTTP: true})
	ref := reference.Reference{Host: strings.TrimPrefix(s.URL, "http://"), Path: "ocp"}
	if err := c.CheckAccess(t.Context(), ref, false); err != nil || c.Stats().Requests["GET ping"] != 1 {
		t.Errorf("%v, %v", err, c.Stats().Requests)
	}
}
