package registrytest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
)

// A front is the HTTP server that clients connect to.
type front struct {
	*httptest.Server
	listener *reopenListener
}

func (f *front) host() string { return f.listener.Addr().String() }

// begin serves the registry h to clients.
func (s *Server) begin(ca *authority, h http.Handler) {
	s.t.Helper()
	s.front = s.serve(ca, h)
	s.Host = s.front.host()
}

// serve puts a front before h.
func (s *Server) serve(ca *authority, h http.Handler) *front {
	s.t.Helper()
	listener, err := listen(s.t.Context())
	if err != nil {
		s.t.Fatalf("registrytest: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &front{listener: listener, Server: &httptest.Server{Listener: listener, Config: &http.Server{
		Handler:     s.log.wrap(s.script.wrap(h)),
		ErrorLog:    discardLogger(),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}}}
	if s.tls == nil {
		f.Start()
	} else {
		leaf, err := ca.certificate("registry")
		if err != nil {
			s.t.Fatalf("registrytest: %v", err)
		}
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
