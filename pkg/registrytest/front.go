package registrytest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
)

// A front is what clients of a server talk to.
type front struct {
	*httptest.Server
	door *doorway
}

func (f *front) host() string { return f.door.Addr().String() }

// begin serves the registry h to clients.
func (s *Server) begin(ca *authority, h http.Handler) {
	s.t.Helper()
	s.front = s.serve(ca, h)
	s.Host = s.front.host()
}

// serve puts a front before h.
func (s *Server) serve(ca *authority, h http.Handler) *front {
	s.t.Helper()
	door, err := listen(s.t.Context())
	if err != nil {
		s.t.Fatalf("registrytest: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &front{door: door, Server: &httptest.Server{Listener: door, Config: &http.Server{
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
		cancel() // lets a stalled answer go
		f.CloseClientConnections()
		f.Close()
	})
	return f
}
