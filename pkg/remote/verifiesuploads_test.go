package remote_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// TestVerifiesUploads checks what counts as proof that a registry compares uploads with digests, that
// the question is asked once, and that no upload stays open.
func TestVerifiesUploads(t *testing.T) {
	// puts answers the first PUT requests, and leaves the others to the registry.
	puts := func(answers ...http.HandlerFunc) func(http.Handler) http.Handler {
		var mu sync.Mutex
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.Method == http.MethodPut && len(answers) > 0 {
					answers[0](w, r)
					answers = answers[1:]
					return
				}
				next.ServeHTTP(w, r)
			})
		}
	}
	code := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			registrytest.Refuse(status, code)(w, r, nil)
		}
	}
	open := func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusCreated) }
	quay := code(http.StatusBadRequest, "BLOB_UPLOAD_INVALID")
	for name, tc := range map[string]struct {
		registry http.Handler // nil: one that compares
		wrap     func(http.Handler) http.Handler
		want     bool
		puts     int // requests to complete an upload
	}{
		"a registry that compares":              {want: true, puts: 1},
		"one that stores anything":              {registry: registrytest.Careless(), puts: 1},
		"one that confirms anything":            {wrap: puts(open), puts: 1},
		"another reason, and the right content": {wrap: puts(quay), want: true, puts: 2},
		"another reason for any content":        {wrap: puts(quay, quay), puts: 2},
		"the right content fails":               {wrap: puts(quay, status(http.StatusInternalServerError)), puts: 2},
		"an internal error":                     {wrap: puts(status(http.StatusInternalServerError)), puts: 1},
		"too many requests":                     {wrap: puts(status(http.StatusTooManyRequests)), puts: 1},
		"not permitted":                         {wrap: puts(status(http.StatusForbidden)), puts: 1},
		"the connection breaks":                 {wrap: puts(reset), puts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := tc.registry
			if registry == nil {
				registry = registrytest.Memory()
			}
			var mu sync.Mutex
			seen := map[string]int{}
			s := startRegistry(t, func(http.Handler) http.Handler {
				if tc.wrap != nil {
					registry = tc.wrap(registry)
				}
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					seen[r.Method]++
					mu.Unlock()
					registry.ServeHTTP(w, r)
				})
			})
			c := newClient(t, remote.Options{Side: remote.Destination, Clock: newClock()})
			fail.Diff(t, tc.want, c.VerifiesUploads(t.Context(), repoAt(s, "org/name")))
			mu.Lock()
			defer mu.Unlock()
			if seen[http.MethodPut] != tc.puts {
				t.Errorf("%d uploads were completed, want %d: %v", seen[http.MethodPut], tc.puts, seen)
			}
		})
	}
}

// TestProofLeavesNoSession checks that the upload of wrong content is canceled and was recorded like
// every other.
func TestProofLeavesNoSession(t *testing.T) {
	u := &uploadServer{sessions: map[string][]byte{}, blobs: map[string][]byte{}}
	s := startRegistry(t, func(http.Handler) http.Handler { return u })
	clock := newClock()
	c := newClient(t, remote.Options{Side: remote.Destination, Clock: clock})
	began := clock.Now()
	if !c.VerifiesUploads(t.Context(), repoAt(s, "org/name")) {
		t.Error("the refusal was not accepted as proof")
	}
	fail.Diff(t, []string{"POST", "PUT", "DELETE"}, u.log)
	if len(u.sessions) > 0 || len(u.blobs) > 0 {
		t.Errorf("%d uploads stay open, %d blobs were stored", len(u.sessions), len(u.blobs))
	}
	if !clock.Now().Equal(began) {
		t.Errorf("the client waited for %s", clock.Now().Sub(began))
	}
}
