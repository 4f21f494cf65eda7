package registrytest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// begin serves the registry h to clients.
func (s *Server) begin(ca *authority, h http.Handler) {
	s.t.Helper()
	s.front = s.serve(ca, h)
	s.listener = s.front.Listener
	s.Host = s.listener.Addr().String()
	s.t.Cleanup(func() { _ = s.listener.Close() })
}

// serve puts the HTTP server that clients connect to before h.
func (s *Server) serve(ca *authority, h http.Handler) *httptest.Server {
	s.t.Helper()
	l, err := listen(s.t.Context(), "127.0.0.1:0")
	fail.On(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	f := &httptest.Server{Listener: l, Config: &http.Server{
		Handler:     s.log.wrap(s.script.wrap(h)),
		ErrorLog:    discardLogger(),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}}
	if s.tls == nil {
		f.Start()
	} else {
		leaf, err := ca.certificate("registry")
		fail.On(s.t, err)
		// HTTP/1.1, because a stream of HTTP/2 cannot be reset by a handler.
		f.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}, MinVersion: tls.VersionTLS12}
		f.StartTLS()
	}
	s.t.Cleanup(func() {
		cancel() // ends stalled responses
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}
