package remote

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// newBucket limits the bytes of bodies in one direction; nil where there is no
// limit. What may pass at once is that of a twentieth of a second: little enough
// that a small limit is a steady trickle, and enough that a large one is not
// lost to timers that come late.
func newBucket(r limits.Rate) *rate.Limiter {
	if r == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(r), int(min(max(r/20, 1<<10), 16<<20)))
}

// buckets are all limits that a body is under.
type buckets []*rate.Limiter

// with adds a limit, where it is one.
func (b buckets) with(l *rate.Limiter) buckets {
	if l == nil {
		return b
	}
	return append(b[:len(b):len(b)], l)
}

// piece is the part of p that may be read at once.
func (b buckets) piece(p []byte) []byte {
	for _, l := range b {
		p = p[:min(len(p), l.Burst(), copyBuffer)]
	}
	return p
}

// pass waits until n bytes that were read may go on.
func (b buckets) pass(ctx context.Context, c *Client, n int) error {
	if n == 0 {
		return nil
	}
	for _, l := range b {
		if err := c.take(ctx, l, n); err != nil {
			return err
		}
	}
	return nil
}
