package remote

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A storing is the time after the last byte of a body was written, in which a registry stores what
// it was sent. A part of the body may still be in a buffer of this system: as long as that is so,
// the registry has to take the minimum rate, as before.
type storing struct {
	conn atomic.Pointer[net.TCPConn] // of an upload
	most time.Duration

	mu    sync.Mutex
	timer *time.Timer // nil if it did not begin
	ended bool
	left  time.Duration
	queue int // the bytes that were in the buffer at the last look
}

// storeMiB is how long a registry may take to store a MiB of a blob: storage that is slower would
// take an hour for a large layer.
const storeMiB = 4 * time.Second

// storing returns for how long a registry may be silent after the last byte of a blob of size bytes,
// also if that was sent in an earlier request. A user who raises SilentTimeout knows that it takes
// longer.
func (c *Client) storing(size int64) time.Duration {
	most := 5 * c.o.IdleTimeout
	if c.o.SilentTimeout > most {
		return c.o.SilentTimeout
	}
	return min(c.idle()+time.Duration(min(size>>20, 1<<20))*storeMiB, most)
}

// begin begins the time of w.
func (s *storing) begin(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil || s.ended {
		return
	}
	s.left = s.most
	step := min(w.idle, s.left)
	s.timer = time.AfterFunc(step, func() { s.look(w, step) })
}

// look is called when a step of the time is over.
func (s *storing) look(w *watch, step time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	queue := 0
	if conn := s.conn.Load(); conn != nil {
		queue = unsent(conn)
	}
	c := w.h.c
	if s.queue > 0 && queue > 0 && s.queue >= queue && float64(s.queue-queue)*float64(max(c.waiting.Load(), 1)) < float64(c.o.MinRate)*step.Seconds() {
		w.cancel(&slowError{int64(s.queue - queue), step, c.o.MinRate})
		return
	}
	s.queue = queue
	if s.left -= step; s.left <= 0 {
		w.cancel(&stallError{peer: w.peer, idle: s.most, storing: true})
		return
	}
	next := min(w.idle, s.left)
	s.timer = time.AfterFunc(next, func() { s.look(w, next) })
}

// end ends the time.
func (s *storing) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// tcpOf returns the TCP connection below c, or nil if there is none.
func tcpOf(c net.Conn) *net.TCPConn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if pooled, ok := c.(pooledConn); ok {
		return pooled.TCPConn
	}
	return nil
}

// idle returns for how long a request may transfer nothing.
func (c *Client) idle() time.Duration { return min(c.o.IdleTimeout, c.o.SilentTimeout) }
