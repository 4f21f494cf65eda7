package registrytest

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A Saved is what the repositories of a server had at some moment: the prefix of a copy.
type Saved string

// A turning passes requests to the namespace that a server has at the moment.
type turning struct {
	mu   sync.RWMutex
	next http.Handler
}

// ServeHTTP implements http.Handler.
func (h *turning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	h.next.ServeHTTP(w, r)
}

// Save keeps what the server has, once no request is being answered, for Restore. The server must share its process.
func (s *Server) Save() Saved {
	s.t.Helper()
	s.turning.mu.Lock()
	defer s.turning.mu.Unlock()
	to, err := s.shared.copyNamespace(s.namespace)
	fail.On(s.t, err)
	return Saved(to)
}

// Restore makes the server have again what it had, and nothing else, once no request is being answered. Blobs that no
// repository has stay in the storage.
func (s *Server) Restore(saved Saved) {
	s.t.Helper()
	s.turning.mu.Lock()
	defer s.turning.mu.Unlock()
	to, err := s.shared.copyNamespace(string(saved))
	fail.On(s.t, errors.Join(err, os.RemoveAll(filepath.Join(s.process.storage(), "repositories", s.namespace))))
	s.namespace, s.turning.next = to, s.process.proxy(to)
}

// copyNamespace copies the repositories of a namespace into a new one.
func (s *sharedProcess) copyNamespace(from string) (to string, err error) {
	s.mu.Lock()
	to = s.next()
	s.mu.Unlock()
	all := filepath.Join(s.process.storage(), "repositories")
	err = copyFiles(filepath.Join(all, to), filepath.Join(all, from))
	if errors.Is(err, os.ErrNotExist) {
		err = nil // nothing was stored yet
	}
	return to, err
}

// Settle waits until no request is being answered: a client that was killed may have left some.
func (s *Server) Settle() {
	s.turning.mu.Lock()
	defer s.turning.mu.Unlock() //nolint:gocritic // nothing else waits
}
