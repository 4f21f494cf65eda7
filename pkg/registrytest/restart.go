package registrytest

import (
	"net/http"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Restart kills the registry's process and starts it again with the same storage, at the same
// address. Requests in progress are reset.
func (s *Server) Restart() {
	s.t.Helper()
	s.needsFiles()
	if s.process == nil || s.namespace != "" {
		s.t.Fatal("registrytest: only a registry of Start with Options.Alone, Auth or Sparse can be restarted")
	}
	s.process.stop(true)
	fail.On(s.t, s.process.start(s.t.Context()))
}

// RestartAfter restarts the registry in the middle of a request: after n bytes
// of its body or, if it has none, of the response's.
func (s *Server) RestartAfter(n int) Action {
	s.needsFiles()
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.ContentLength == 0 {
			next.ServeHTTP(&restartingWriter{ResponseWriter: w, s: s, left: n}, r)
			return
		}
		r.Body = &interruptedBody{ReadCloser: r.Body, left: n, do: func() error {
			s.Restart()
			return nil
		}}
		next.ServeHTTP(w, r)
	}
}

type restartingWriter struct {
	http.ResponseWriter
	s    *Server
	left int // bytes until the restart; -1 after it
}

// Write restarts the registry after the bytes before the restart were written.
func (w *restartingWriter) Write(p []byte) (int, error) {
	if w.left >= 0 && len(p) >= w.left {
		w.left = -1
		w.s.Restart()
	}
	n, err := w.ResponseWriter.Write(p)
	if w.left > 0 {
		w.left -= n
	}
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *restartingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
