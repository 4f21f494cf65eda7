package remote_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// tokensForEveryone is a registry whose token endpoint responds to requests without credentials.
func tokensForEveryone(status int, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"token":%q}`, token)
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q", "http://"+r.Host+"/token"))
		w.WriteHeader(http.StatusUnauthorized)
	})
}

func webToken(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

// TestCheckAccessWithoutCredential checks that a push without credentials is refused before it begins if
// the registry certainly requires them, and a pull is not.
func TestCheckAccessWithoutCredential(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		registry http.Handler
		requests int64 // of a push
		refused  bool
	}{
		"open":               {registry: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), requests: 1},
		"basic":              {registry: basicOnly("s3cret"), requests: 1, refused: true},
		"no token":           {registry: tokensForEveryone(401, ""), requests: 2, refused: true},
		"token forbidden":    {registry: tokensForEveryone(403, ""), requests: 2, refused: true},
		"busy":               {registry: tokensForEveryone(503, ""), requests: 2},
		"unknown token":      {registry: tokensForEveryone(200, "opaque"), requests: 2},
		"other claims":       {registry: tokensForEveryone(200, webToken(`{"sub":""}`)), requests: 2},
		"token without push": {registry: tokensForEveryone(200, webToken(`{"access":[{"type":"repository","name":"ocp/gantry","actions":["pull"]}]}`)), requests: 2, refused: true},
		"token for nothing":  {registry: tokensForEveryone(200, webToken(`{"access":[]}`)), requests: 2, refused: true},
		"token with push":    {registry: tokensForEveryone(200, webToken(`{"access":[{"actions":["pull","push"]}]}`)), requests: 2},
		"token for all":      {registry: tokensForEveryone(200, webToken(`{"access":[{"actions":["*"]}]}`)), requests: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if scope := r.URL.Query().Get("scope"); r.URL.Path == "/token" && scope != "repository:ocp/gantry:pull,push" {
					t.Errorf("a token for %s", scope)
				}
				tc.registry.ServeHTTP(w, r)
			})
			home := t.TempDir()
			none := keychain.New(keychain.Options{Home: home, RuntimeDir: home, Getenv: func(string) string { return "" }})
			c := newClient(t, remote.Options{Side: remote.Destination, Keychain: none, PlainHTTP: true})
			ref := reference.Reference{Host: strings.TrimPrefix(s.URL, "http://"), Path: "ocp"}
			if err := c.CheckAccess(t.Context(), ref, false); err != nil || requests.Load() != 1 {
				t.Errorf("to pull: %v, %d requests", err, requests.Load())
			}
			err := c.CheckAccess(t.Context(), ref, true)
			fail.Diff(t, tc.requests, requests.Load())
			if !tc.refused {
				fail.On(t, err)
				return
			}
			text := advice.Text(err)
			if !errors.Is(err, remote.ErrUnauthorized) || advice.KindOf(err) != advice.Unauthorized ||
				!strings.HasPrefix(text, "logging in at "+ref.Host+": it requires a login to push, and no credentials for it were found in "+home) ||
				!strings.Contains(text, home+"/.docker/config.json") || !strings.HasSuffix(text, "; run gantry registry login "+ref.Host+"/ocp, or set Options.Destination.AuthFile") {
				t.Error(text)
			}
		})
	}
}
