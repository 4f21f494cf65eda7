package remote

import (
	"context"
	"slices"

	"golang.org/x/time/rate"

	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// newBucket returns a limiter for the bytes of bodies in one direction; nil if there is no limit.
// The burst is a twentieth of a second: small enough that a low limit is a steady trickle, and
// large enough that a high one does not suffer from late timers.
func newBucket(r limits.Rate) *rate.Limiter {
	if r == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(r), int(min(max(r/20, 1<<10), 16<<20)))
}

// buckets are all limits of a body.
type buckets []*rate.Limiter

// with adds a limit, which may be nil.
func (b buckets) with(l *rate.Limiter) buckets {
	if l == nil {
		return b
	}
	return append(slices.Clip(b), l)
}

// cut returns the part of p that may be read at once.
func (b buckets) cut(p []byte) []byte {
	for _, l := range b {
		p = p[:min(len(p), l.Burst(), copyBuffer)]
	}
	return p
}

// wait waits until n bytes that were read may pass.
func (b buckets) wait(ctx context.Context, c *Client, n int) error {
	if n == 0 {
		return nil
	}
	for _, l := range b {
		if err := c.waitN(ctx, l, n); err != nil {
			return err
		}
	}
	return nil
}
