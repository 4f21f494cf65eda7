package registrytest

import (
	"crypto/tls"
	"net"
	"time"
)

// Shut breaks the registry's connections and refuses new ones until Open, like a host on which no
// registry runs.
func (s *Server) Shut() {
	s.t.Helper()
	if err := s.listener.Close(); err != nil {
		s.t.Errorf("registrytest: shutting the registry's listener: %v", err)
	}
	// A process that is being started has a copy of the socket until it executes its program.
	for range 5000 {
		conn, err := net.Dial("tcp", s.Host) //nolint:noctx // on loopback, it never waits
		if err != nil {
			break
		}
		_ = conn.Close()
		<-time.After(time.Millisecond)
	}
	s.front.CloseClientConnections()
}

// Open accepts clients again, at the same address.
func (s *Server) Open() {
	s.t.Helper()
	l, err := listen(s.t.Context(), s.Host)
	if err != nil {
		s.t.Errorf("registrytest: opening the registry's listener again: %v", err)
		return
	}
	if s.front.TLS != nil {
		l = tls.NewListener(l, s.front.TLS)
	}
	s.listener = l
	go func() { _ = s.front.Config.Serve(l) }() // until the listener is closed
}
