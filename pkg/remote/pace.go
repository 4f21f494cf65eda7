package remote

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// A host that answered 429 is sent this part of the requests per second
	// that it answered well, …
	paceCut = 0.7
	// … and so many times more with every second that it does not again, until
	// it is this many times more than at first.
	paceGrowth = 1.1
	paceEnd    = 100
	// slowest is the smallest pace, in requests per second.
	slowest = 1
	// A host that minds the pace does not refuse for paceCalm after a cut, since the
	// pace is below what it answered well. One that does, paceVain times in a row,
	// and yet answers most, refuses for other reasons: a smaller pace would bring
	// nothing, and the pace stands. So it does below paceLow, where requests are too
	// few to tell.
	paceCalm = 3 * time.Second
	paceVain = 3
	paceMost = 0.3 // the part of refusals, at most
	paceLow  = 5
)

// A pace says when the next request may go to a host: not before the time that
// the host named in Retry-After, whichever request it told so, and not faster
// than it stands.
type pace struct {
	mu     sync.Mutex
	until  time.Time     // nothing is sent before
	spread time.Duration // over which those who wait for it go on

	limiter *rate.Limiter // nil: the host never said that it is too much
	first   rate.Limit    // what it began with …
	since   time.Time     // … at this time

	// Answers that were no 429, since start, and per second before that.
	start time.Time
	good  int
	last  float64

	vain     int // cuts in a row after which the host refused without calm
	answers  int // since the last cut that were no 429 …
	refusals int // … and that were
}

// hold keeps all requests back for a time, at most maxRetryAfter.
func (p *pace) hold(now time.Time, d time.Duration) {
	d = min(d, maxRetryAfter)
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := now.Add(d); until.After(p.until) {
		p.until = until
		p.spread = min(d/4, 5*time.Second)
	}
}

// next takes a turn and returns how long to wait for it. again means that this
// is to be asked once more afterwards.
func (p *pace) next(now time.Time) (wait time.Duration, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.until.Sub(now); d > 0 {
		// Not all at the same moment: that is what it complained of.
		return d + rand.N(p.spread+1), true
	}
	if p.limiter == nil {
		return 0, false
	}
	perSecond := p.now(now)
	if perSecond > p.first*paceEnd {
		p.limiter = nil
		return 0, false
	}
	p.limiter.SetLimitAt(now, perSecond)
	return p.limiter.ReserveN(now, 1).DelayFrom(now), false
}

// now is the pace at a time; p.mu is held.
func (p *pace) now(at time.Time) rate.Limit {
	return p.first * rate.Limit(math.Pow(paceGrowth, at.Sub(p.since).Seconds()))
}

// answered is told of an answer that was no 429.
func (p *pace) answered(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.start.IsZero() {
		p.start = now
	}
	p.good++
	p.answers++
	if passed := now.Sub(p.start); passed >= time.Second {
		p.last = float64(p.good) / passed.Seconds()
		p.start, p.good = now, 0
	}
}

// refused is told of a 429 to a request that was sent at the width of now. What
// the host says within a second of being sent less may still be about before.
func (p *pace) refused(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusals++
	if p.limiter != nil && now.Sub(p.since) < time.Second {
		return
	}
	well := rate.Limit(p.last)
	if passed := now.Sub(p.start); passed > 0 && p.good > 0 {
		well = max(well, rate.Limit(float64(p.good)/passed.Seconds()))
	}
	first := well * paceCut
	if p.limiter != nil {
		stands := p.now(now)
		first = min(well, stands) * paceCut
		if now.Sub(p.since) > paceCalm {
			p.vain = 0
		} else {
			p.vain++
		}
		most := float64(p.refusals) < paceMost*float64(p.refusals+p.answers)
		if most && (p.vain >= paceVain || stands < paceLow) {
			first = min(stands, 4*well)
		}
	}
	p.first, p.since = max(slowest, first), now
	p.answers, p.refusals = 0, 0
	p.limiter = rate.NewLimiter(p.first, burst(float64(p.first)))
	p.start, p.good, p.last = now, 0, float64(p.first)
}

// burst is how many turns may be taken at once, so that a timer which comes late
// loses none: those of a twentieth of a second.
func burst(perSecond float64) int { return max(1, int(perSecond/20)) }

// admit waits until a request may go to the host.
func (h *host) admit(ctx context.Context) error {
	clock := h.c.o.Clock
	for again := true; again; {
		var d time.Duration
		if d, again = h.pace.next(clock.Now()); d > 0 {
			if err := clock.Wait(ctx, d); err != nil {
				return context.Cause(ctx)
			}
		}
	}
	if h.requests == nil {
		return nil
	}
	return h.c.take(ctx, h.requests, 1)
}

// take waits until n of l are to be had.
func (c *Client) take(ctx context.Context, l *rate.Limiter, n int) error {
	now := c.o.Clock.Now()
	turn := l.ReserveN(now, n)
	d := turn.DelayFrom(now)
	if d == 0 {
		return nil
	}
	if err := c.o.Clock.Wait(ctx, d); err != nil {
		turn.CancelAt(c.o.Clock.Now())
		return context.Cause(ctx)
	}
	return nil
}
