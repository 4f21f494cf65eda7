package registrytest

import (
	"context"
	"net"
	"sync"
)

// A doorway is a listener that can be closed for a while: who knocks then is
// refused by the kernel, as at an address where nothing runs.
type doorway struct {
	addr net.Addr

	mu     sync.Mutex
	opened sync.Cond // over mu
	inner  net.Listener
	closed bool // for good
}

func listen(ctx context.Context) (*doorway, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &doorway{addr: l.Addr(), inner: l}
	d.opened.L = &d.mu
	return d, nil
}

// Addr is the same before and after the door was shut.
func (d *doorway) Addr() net.Addr { return d.addr }

// Accept waits through the time in which the door is shut.
func (d *doorway) Accept() (net.Conn, error) {
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

// Close shuts the door for good.
func (d *doorway) Close() error {
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

func (d *doorway) shut() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner == nil {
		return nil
	}
	l := d.inner
	d.inner = nil
	return l.Close()
}

func (d *doorway) open(ctx context.Context) error {
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

// Shut breaks the registry's connections and refuses new ones until Open, as a
// host does on which the registry does not run.
func (s *Server) Shut() {
	s.t.Helper()
	if err := s.front.door.shut(); err != nil {
		s.t.Errorf("registrytest: shutting the registry's door: %v", err)
	}
	s.front.CloseClientConnections()
}

// Open lets clients in again, at the same address.
func (s *Server) Open() {
	s.t.Helper()
	if err := s.front.door.open(s.t.Context()); err != nil {
		s.t.Errorf("registrytest: opening the registry's door again: %v", err)
	}
}
