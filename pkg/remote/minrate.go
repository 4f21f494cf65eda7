package remote

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// A slowError is the cause of a request that is slower than Options.MinRate.
type slowError struct {
	bytes int64         // that were transferred …
	took  time.Duration // … in this time
	least limits.Rate
}

func (e *slowError) Error() string {
	return fmt.Sprintf("only %d bytes were transferred in %s", e.bytes, e.took.Round(time.Second))
}

// A bodyRate measures how fast one body passes, one part after the other. Only the time from wait
// to moved counts, in which the network is waited for. It measures in the system's time, as the
// timer of a watch does: an injected clock may skip time that others wait.
type bodyRate struct {
	mu    sync.Mutex
	since time.Time // when the current part began; zero between parts
	took  time.Duration
	bytes int64
}

// wait begins a part.
func (r *bodyRate) wait(c *Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		c.waiting.Add(1)
	}
	r.since = time.Now()
}

// moved ends a part of n bytes. It returns an error if the last parts, in at least the time that a
// request may be idle, were too slow.
func (r *bodyRate) moved(c *Client, n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		return nil
	}
	r.took += time.Since(r.since)
	r.bytes += int64(n)
	r.since = time.Time{}
	sharing := max(c.waiting.Add(-1)+1, 1)
	if r.took < c.idle() {
		return nil
	}
	bytes, took := r.bytes, r.took
	r.bytes, r.took = 0, 0
	if least := float64(c.o.MinRate) * took.Seconds(); float64(bytes*sharing) < least {
		return &slowError{bytes, took, c.o.MinRate}
	}
	return nil
}

// isWaiting reports whether the network is waited for with a part.
func (r *bodyRate) isWaiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.since.IsZero()
}

// abandon ends a part whose bytes may not have passed.
func (r *bodyRate) abandon(c *Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.since.IsZero() {
		r.since = time.Time{}
		c.waiting.Add(-1)
	}
}

const (
	// firstPiece is how much of a body is sent at first, in bytes: little enough that a slow
	// connection takes it in a fraction of the time that a request may be idle.
	firstPiece = 64 << 10
	// A piece grows until it takes more than fastPiece, and shrinks if it takes longer than
	// slowPiece.
	fastPiece = 100 * time.Millisecond
	slowPiece = time.Second
	minPiece  = 1 << 10
)

// pieces are the parts in which a body is sent. What is written to a connection at once shows no
// progress before it is written as a whole.
type pieces struct {
	size  int // of the next piece; 0 before the first
	now   int // of the current piece
	since time.Time
}

// cut returns the part of p that is sent next.
func (s *pieces) cut(p []byte) []byte {
	s.size = cmp.Or(s.size, firstPiece)
	return p[:min(len(p), s.size)]
}

// sending records that n bytes are being sent.
func (s *pieces) sending(w *watch, n int) {
	s.now, s.since = n, time.Now()
	w.pace.wait(w.h.c)
}

// sent records that the current piece was sent, and returns an error if the body is too slow.
func (s *pieces) sent(w *watch) error {
	if s.now == 0 {
		return nil
	}
	switch took := time.Since(s.since); {
	case took < fastPiece:
		s.size = min(2*s.size, copyBuffer)
	case took > slowPiece:
		s.size = max(int(float64(s.now)*slowPiece.Seconds()/took.Seconds()), minPiece)
	}
	err := w.pace.moved(w.h.c, s.now)
	s.now = 0
	return err
}
