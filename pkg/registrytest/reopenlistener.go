package registrytest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// A reopenListener is a listener that can be closed and opened again at the same address. While it
// is closed, the kernel refuses connections.
type reopenListener struct {
	addr net.Addr

	mu     sync.Mutex
	opened sync.Cond // over mu
	inner  net.Listener
	closed bool // permanently
}

func listen(ctx context.Context) (*reopenListener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &reopenListener{addr: l.Addr(), inner: l}
	d.opened.L = &d.mu
	return d, nil
}

// Addr is the same after Open.
func (d *reopenListener) Addr() net.Addr { return d.addr }

// Accept waits while the listener is closed.
func (d *reopenListener) Accept() (net.Conn, error) {
	for {
		d.mu.Lock()
		for d.inner == nil && !d.closed {
			d.opened.Wait()
		}
		l, closed := d.inner, d.closed
		d.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		conn, err := l.Accept()
		if err == nil {
			return conn, nil
		}
		d.mu.Lock()
		shut := d.inner != l
		d.mu.Unlock()
		if !shut {
			return nil, err
		}
	}
}

// Close closes the listener permanently.
func (d *reopenListener) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.opened.Broadcast()
	if d.inner == nil {
		return nil
	}
	l := d.inner
	d.inner = nil
	return l.Close()
}

func (d *reopenListener) shut() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner == nil {
		return nil
	}
	l := d.inner
	d.inner = nil
	if err := l.Close(); err != nil {
		return err
	}
	return d.refused()
}

// refused waits until the kernel refuses connections. A process that is being started has a copy of
// the socket until it executes its program.
func (d *reopenListener) refused() error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 5000 {
		conn, err := net.Dial("tcp", d.addr.String()) //nolint:noctx // on loopback, it never waits
		if err != nil {
			return nil
		}
		if err := conn.Close(); err != nil {
			return err
		}
		<-tick.C
	}
	return fmt.Errorf("%s still accepts connections", d.addr)
}

func (d *reopenListener) open(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner != nil || d.closed {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", d.addr.String())
	if err != nil {
		return err
	}
	d.inner = l
	d.opened.Broadcast()
	return nil
}

// Shut breaks the registry's connections and refuses new ones until Open, like a host on which no
// registry runs.
func (s *Server) Shut() {
	s.t.Helper()
	if err := s.front.listener.shut(); err != nil {
		s.t.Errorf("registrytest: shutting the registry's listener: %v", err)
	}
	s.front.CloseClientConnections()
}

// Open accepts clients again, at the same address.
func (s *Server) Open() {
	s.t.Helper()
	if err := s.front.listener.open(s.t.Context()); err != nil {
		s.t.Errorf("registrytest: opening the registry's listener again: %v", err)
	}
}
