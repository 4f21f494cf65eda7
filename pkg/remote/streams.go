package remote

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// streams limits the concurrent requests to a host, to the number that serves it best.
type streams struct {
	mu      sync.Mutex
	limit   *adaptiveLimit
	used    int
	waiting []chan struct{}
}

func newStreams(most int) *streams { return &streams{limit: newAdaptiveLimit(most)} }

// acquire waits for a free stream or the end of the context.
func (s *streams) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.used < s.limit.current {
		s.used++
		s.mu.Unlock()
		return nil
	}
	s.limit.saturated = true
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.waiting {
		if w == turn {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	// The turn came at the same moment: pass it on.
	s.used--
	s.wake()
	return ctx.Err()
}

func (s *streams) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.wake()
}

// wake assigns free streams to waiting requests; s.mu is held.
func (s *streams) wake() {
	for s.used < s.limit.current && len(s.waiting) > 0 {
		s.used++
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

// cuts returns the number of cuts of the limit so far, which a request carries.
func (s *streams) cuts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit.cuts
}

// answered adapts the limit to a response, which took a time after its request; 0 if unknown. It
// reports whether the response means that the limit was too high, and is the first one since the
// request was sent.
func (s *streams) answered(now time.Time, moved int64, r *request, status int, took time.Duration) (cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return s.limit.refused(now, moved, r.cuts, status == http.StatusTooManyRequests)
	}
	s.limit.answered(now, moved, requestKind{r.method, r.kind}, took)
	s.wake()
	return false
}

// tick adapts the limit while bodies are transferred without responses.
func (s *streams) tick(now time.Time, moved int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit.tick(now, moved)
	s.wake()
}
