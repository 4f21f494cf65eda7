package histories

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// lists sees which lists of referrers are replaced in the registry of the mirrors. A client that attaches something pushes a
// longer list under the same tag, and does not delete the one before, so that the registry has it until it collects garbage
// with --delete-untagged. Prune and delete push shorter lists, and delete the one before.
type lists struct {
	mu       sync.Mutex
	now      map[string]digest.Digest // by "repository:tag"
	replaced map[place]bool           // may be left without a tag
	fresh    []place                  // replaced since settle
}

// serve passes the push of a list to the registry.
func (l *lists) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	got := &statusWriter{ResponseWriter: w}
	next.ServeHTTP(got, r)
	repository, tag, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
	pushed := digest.Digest(w.Header().Get("Docker-Content-Digest"))
	if !ok || got.status != http.StatusCreated || r.Method != http.MethodPut {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name := repository + ":" + tag
	if before := l.now[name]; before != "" && before != pushed {
		l.fresh = append(l.fresh, place{repository, before})
	}
	l.now[name] = pushed
}

// settle says whether the lists that were replaced since the last time must be deleted now.
func (l *lists) settle(deleted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !deleted {
		for _, p := range l.fresh {
			l.replaced[p] = true
		}
	}
	l.fresh = nil
}

// script sets the rules of the registry of the mirrors.
func (e *engine) script(rules ...rt.Rule) {
	e.mirror.Script(append(rules, rt.Rule{Method: http.MethodPut, Path: "/manifests/sha256-[0-9a-f]{64}$", Action: e.lists.serve})...)
}

// isReplacedList reports whether a manifest is a list of referrers that a later one replaced, and that nothing deletes.
func (e *engine) isReplacedList(s *stored, p place) bool {
	tagged := slices.ContainsFunc(slices.Collect(maps.Keys(s.tags)), func(name string) bool {
		repository, _ := splitTag(name)
		return repository == p.repository && s.tags[name] == p.digest
	})
	return e.lists.replaced[p] && !tagged
}

// A statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
