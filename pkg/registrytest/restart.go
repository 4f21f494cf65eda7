package registrytest

import (
	"io"
	"net/http"
)

// Restart kills the registry's process and starts it again with the same storage, at the same
// address. Requests in progress are reset.
func (s *Server) Restart() {
	s.t.Helper()
	if s.process == nil || s.namespace != "" {
		s.t.Fatal("registrytest: only a registry of Start with Options.Alone, Auth or Sparse can be restarted")
	}
	s.process.stop(true)
	if err := s.process.start(s.t.Context()); err != nil {
		s.t.Fatalf("registrytest: restarting the registry: %v", err)
	}
}

// RestartAfter restarts the registry in the middle of a request: after n bytes
// of its body or, if it has none, of the response's.
func (s *Server) RestartAfter(n int) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.ContentLength == 0 {
			next.ServeHTTP(&restartingWriter{ResponseWriter: w, s: s, left: n}, r)
			return
		}
		r.Body = &restartingBody{ReadCloser: r.Body, s: s, left: n}
		next.ServeHTTP(w, r)
	}
}

type restartingBody struct {
	io.ReadCloser
	s    *Server
	left int // bytes until the restart; -1 after it
}

// Read restarts the registry after the bytes before the restart were forwarded.
func (b *restartingBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.left = -1
		b.s.Restart()
	}
	if b.left > 0 {
		p = p[:min(len(p), b.left)]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= n
	}
	return n, err
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
