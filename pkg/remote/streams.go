package remote

import (
	"context"
	"sync"
)

// streams bounds the requests that are under way at a host. The bound follows
// the host: halved when it says that there are too many, raised by one after
// as many successes as the bound is high.
type streams struct {
	mu      sync.Mutex
	most    int // the bound that the user chose
	limit   int // the bound now, 1 to most
	used    int
	good    int // successes since the limit last changed
	waiting []chan struct{}
}

func newStreams(most int) *streams { return &streams{most: most, limit: most} }

// acquire waits for a free stream or the end of the context.
func (s *streams) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.used < s.limit {
		s.used++
		s.mu.Unlock()
		return nil
	}
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
	for s.used < s.limit && len(s.waiting) > 0 {
		s.used++
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

// answered adapts the limit to an answer: overloaded means that the host said
// 429.
func (s *streams) answered(overloaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case overloaded && s.good >= 0:
		// The answers to what is under way already come from the same moment
		// and must not halve the limit again.
		s.good = -s.used
		s.limit = max(1, s.limit/2)
	case s.limit == s.most:
		s.good = 0
	default:
		if s.good++; s.good >= s.limit {
			s.good = 0
			s.limit++
			s.wake()
		}
	}
}
