package remote_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// A wrong password is sent to a host once, regardless of the number of requests, because some hosts
// lock the account after a few.
func TestWrongPasswordIsSentOnce(t *testing.T) {
	for _, scheme := range []string{"basic", "token"} {
		t.Run(scheme, func(t *testing.T) {
			var shown atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if _, _, ok := r.BasicAuth(); ok {
					shown.Add(1)
				}
				switch scheme {
				case "basic":
					w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
				default:
					w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q", "http://"+r.Host+"/token"))
				}
				w.WriteHeader(http.StatusUnauthorized)
			})
			c := newClient(t, remote.Options{Side: remote.Destination, Keychain: keys{Username: "me", Password: "wrong"}})
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					name := fmt.Sprintf("org/name%d", i%16)
					_, _, err := c.ManifestExists(t.Context(), repoAt(s, name).WithTag("v1"))
					if !errors.Is(err, remote.ErrUnauthorized) || errors.Is(err, remote.ErrDenied) || !strings.Contains(err.Error(), name+":") {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			wg.Wait()
			fail.Diff(t, int64(1), shown.Load())
		})
	}
}

// The refusal of one repository is distinguished from a refusal of the host.
func TestDenied(t *testing.T) {
	me := keychain.Credential{Username: "me", Password: "pw"}
	for name, tc := range map[string]struct {
		cred   keychain.Credential
		first  int // the answer to another repository
		answer int
		denied bool
	}{
		"403":                          {cred: me, first: 200, answer: 403, denied: true},
		"403, anonymously":             {first: 200, answer: 403, denied: true},
		"401 for an accepted password": {cred: me, first: 200, answer: 401, denied: true},
		"401 after 404":                {cred: me, first: 404, answer: 401, denied: true},
		"401 for a wrong password":     {cred: me, first: 401, answer: 401},
		"401 after a 403":              {cred: me, first: 403, answer: 401},
		"401, anonymously":             {first: 200, answer: 401},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				answer := http.StatusUnauthorized
				_, _, shown := r.BasicAuth()
				switch {
				case strings.Contains(r.URL.Path, "/first/"):
					answer = tc.first
				case strings.Contains(r.URL.Path, "/second/"):
					answer = tc.answer
				}
				if !shown && tc.cred.Username != "" {
					answer = http.StatusUnauthorized
				}
				if answer == http.StatusUnauthorized {
					w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
				}
				w.WriteHeader(answer)
			})
			c := newClient(t, remote.Options{Side: remote.Destination, Keychain: keys(tc.cred)})
			_, _, _ = c.ManifestExists(t.Context(), repoAt(s, "first").WithTag("v1")) // whatever it says
			_, _, err := c.ManifestExists(t.Context(), repoAt(s, "second").WithTag("v1"))
			if !errors.Is(err, remote.ErrUnauthorized) || errors.Is(err, remote.ErrDenied) != tc.denied {
				t.Errorf("denied %t, want %t: %v", !tc.denied, tc.denied, err)
			}
		})
	}
}
