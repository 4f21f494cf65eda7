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
	// After a 429, a host is sent this part of the requests per second that it responded to, …
	paceCut = 0.7
	// … and this factor more with every second without another 429, until it is so many times the
	// rate after the cut.
	paceGrowth = 1.1
	paceEnd    = 100
	// minPace is the lowest rate, in requests per second.
	minPace = 1
	// A host that limits the rate does not respond 429 for paceCalm after a cut, because the rate is
	// below what it responded to. If it does, paceFutile times in a row, although it serves most
	// requests, it has other reasons: a lower rate would not help, and the rate stays. It also
	// stays below paceLow, where requests are too few to tell.
	paceCalm   = 3 * time.Second
	paceFutile = 3
	paceMost   = 0.3 // the highest share of refusals
	paceLow    = 5
)

// A pace is when the next request may go to a host: not before the time of its last Retry-After
// header, for whatever request, and not faster than the current rate.
type pace struct {
	mu     sync.Mutex
	until  time.Time     // no request is sent before this time
	spread time.Duration // the requests that wait for it are spread over this time

	limiter *rate.Limiter // nil: the host never responded 429
	first   rate.Limit    // the rate …
	since   time.Time     // … at this time

	// Responses other than 429 since start, and per second before that.
	start time.Time
	good  int
	last  float64

	futileCuts int // cuts in a row that were soon followed by another 429
	answers    int // responses since the last cut that were not 429 …
	refusals   int // … and that were
}

// hold delays all requests for a time, at most maxRetryAfter.
func (p *pace) hold(now time.Time, d time.Duration) {
	d = min(d, maxRetryAfter)
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := now.Add(d); until.After(p.until) {
		p.until = until
		p.spread = min(d/4, 5*time.Second)
	}
}

// next reserves a request and returns how long to wait for it. again means that it must be called
// once more afterwards.
func (p *pace) next(now time.Time) (wait time.Duration, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.until.Sub(now); d > 0 {
		// Not all at the same moment, which is what the host complained about.
		return d + rand.N(p.spread+1), true
	}
	if p.limiter == nil {
		return 0, false
	}
	perSecond := p.rateAt(now)
	if perSecond > p.first*paceEnd {
		p.limiter = nil
		return 0, false
	}
	p.limiter.SetLimitAt(now, perSecond)
	return p.limiter.ReserveN(now, 1).DelayFrom(now), false
}

// rateAt returns the rate at a time; p.mu is held.
func (p *pace) rateAt(at time.Time) rate.Limit {
	return p.first * rate.Limit(math.Pow(paceGrowth, at.Sub(p.since).Seconds()))
}

// answered records a response other than 429.
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

// refused records a 429 for a request that was sent at the current limit of streams. Responses
// within a second of a cut may still be about the time before.
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
		stands := p.rateAt(now)
		first = min(well, stands) * paceCut
		if now.Sub(p.since) > paceCalm {
			p.futileCuts = 0
		} else {
			p.futileCuts++
		}
		most := float64(p.refusals) < paceMost*float64(p.refusals+p.answers)
		if most && (p.futileCuts >= paceFutile || stands < paceLow) {
			first = min(stands, 4*well)
		}
	}
	p.first, p.since = max(minPace, first), now
	p.answers, p.refusals = 0, 0
	p.limiter = rate.NewLimiter(p.first, burst(float64(p.first)))
	p.start, p.good, p.last = now, 0, float64(p.first)
}

// burst returns how many requests may be sent at once, so that late timers lose none: those of a
// twentieth of a second.
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
	return h.c.waitN(ctx, h.requests, 1)
}

// waitN waits until n of l are available.
func (c *Client) waitN(ctx context.Context, l *rate.Limiter, n int) error {
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
