package remote

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// streams bounds the requests that are under way at a host, by the width that
// serves it best.
type streams struct {
	mu      sync.Mutex
	width   *width
	used    int
	waiting []chan struct{}
}

func newStreams(most int) *streams { return &streams{width: newWidth(most)} }

// acquire waits for a free stream or the end of the context.
func (s *streams) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.used < s.width.limit {
		s.used++
		s.mu.Unlock()
		return nil
	}
	s.width.full = true
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

// wake gives free streams to those who wait; s.mu is held.
func (s *streams) wake() {
	for s.used < s.width.limit && len(s.waiting) > 0 {
		s.used++
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

// cuts identifies the width that a request is sent at.
func (s *streams) cuts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width.cuts
}

// answered adapts the width to an answer that took a time after its request; 0
// where that is not known. It reports whether the answer says that the width was
// too large, as the first one since the request was sent.
func (s *streams) answered(now time.Time, moved int64, r *request, status int, took time.Duration) (cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return s.width.refused(now, moved, r.cuts, status == http.StatusTooManyRequests)
	}
	s.width.answered(now, moved, kind{r.method, r.kind}, took)
	s.wake()
	return false
}

// tick adapts the width while bodies are on their way and nothing is answered.
func (s *streams) tick(now time.Time, moved int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width.tick(now, moved)
	s.wake()
}
