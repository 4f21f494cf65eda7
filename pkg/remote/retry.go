package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Retry is how often and when a request is retried.
type Retry struct {
	// Times is the number of retries; 0 means 8, -1 none. With the default delays, they take 46 to
	// 92 seconds, in which a registry can be restarted. A server from which nothing has come in this
	// run is tried for at most ten seconds.
	Times int
	// Delay is the time between attempts; 0 means half a second, then twice as long each time up to
	// 30 s, minus a random part. Retry-After has precedence.
	Delay time.Duration
}

// A RetryEvent is a retry that will be made.
type RetryEvent struct {
	Host    string // the registry, as in references: "quay.io"
	Attempt int    // its number; the first retry is attempt 2
	Wait    time.Duration
	Err     *Error // what went wrong: its Op is what is retried
}

const (
	maxRetryAfter = 5 * time.Minute
	firstDelay    = 500 * time.Millisecond
	maxDelay      = 30 * time.Second
)

func (r Retry) times() int {
	switch {
	case r.Times == 0:
		return 8
	case r.Times < 0:
		return 0
	}
	return r.Times
}

// wait returns how long to wait before attempt n+1 (from 0), and whether there is one.
func (r Retry) wait(err error, n int) (time.Duration, bool) {
	var f permanentError
	var e *Error
	if n >= r.times() || errors.As(err, &f) || !errors.As(err, &e) || !e.retryable {
		return 0, false
	}
	switch {
	case e.after > 0:
		return min(e.after, maxRetryAfter), true
	case r.Delay > 0:
		return r.Delay, true
	}
	d := min(firstDelay<<min(n, 10), maxDelay)
	return d/2 + rand.N(d/2), true
}

// retry calls f until it succeeds, fails permanently, or the policy or the context ends.
func (c *Client) retry(ctx context.Context, f func(context.Context) error) error {
	var t attempts
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if err := t.next(ctx, c, err, 0); err != nil {
			return err
		}
	}
}

// waitToRetry waits before the next attempt, after t.n others and the one that ended with err. It
// returns err if there is none. After one request waited for an unreachable host until it timed out, later
// ones do not wait, until the host responds: otherwise, thousands would, one after the other. The
// same holds for what a host fails at; see [breaker].
func (c *Client) waitToRetry(ctx context.Context, err error, t *attempts) error {
	n := t.n
	d, ok := c.o.Retry.wait(err, n)
	upTo := max(d, c.o.Retry.maxWait())
	var e *Error
	if errors.As(err, &e) && e.from != nil {
		ok = ok && !t.waitedEnough(c, e)
		if since, first := e.firstContact(); first {
			ok = ok && c.o.Clock.Now().Add(d).Sub(since) <= firstContact
			upTo = min(upTo, firstContact)
		}
		ok = e.from.worthRetry(e, t, ok)
	}
	if !ok {
		return c.afterAttempts(err, n+1)
	}
	level := slog.LevelDebug
	if e != nil && e.from != nil {
		e.from.stats.retries.Add(1)
		if c.o.OnRetry != nil {
			c.o.OnRetry(RetryEvent{Host: e.from.name, Attempt: n + 2, Wait: d, Err: e})
		}
		if e.from.trouble.shouldLog(c.o.Clock.Now(), e.unreachable) {
			c.o.Log.Warn("a server does not respond properly; retrying its requests", "host", e.from.name, "err", e, "wait", d, "upTo", upTo)
		}
	} else {
		level = slog.LevelWarn
	}
	c.o.Log.Log(ctx, level, "retrying", "err", err, "attempt", n+2, "wait", d)
	if c.o.Clock.Wait(ctx, d) != nil {
		return interrupted(ctx, err)
	}
	return nil
}

// firstContact reports whether e is about a server from which nothing has come in this run, and since when it is
// tried: no connection to it could be made, or it broke. A server that is silent is waited for as Options say.
func (e *Error) firstContact() (since time.Time, ok bool) {
	if e.peer == nil || e.silent > 0 || e.peer.heard.Load() > 0 {
		return time.Time{}, false
	}
	return e.peer.firstTried(), true
}

// afterAttempts adds to the last error of n attempts how many there were, and at a first contact how long they took.
func (c *Client) afterAttempts(err error, n int) error {
	if n == 1 {
		return err
	}
	took := ""
	if e, ok := errors.AsType[*Error](err); ok {
		if since, first := e.firstContact(); first {
			took = " in " + c.o.Clock.Now().Sub(since).Round(time.Second).String()
		}
	}
	return fmt.Errorf("%w (after %d attempts%s)", err, n, took)
}

// worthRetry reports whether a request that ended with e, after t.n attempts before, is retried; ok
// is what the policy says. It records failures that are not retried.
func (h *host) worthRetry(e *Error, t *attempts, ok bool) bool {
	switch {
	case e.unreachable:
		if t.n > 0 && !ok {
			h.gaveUp.Store(true)
		}
		return ok && (t.n > 0 || !h.gaveUp.Load())
	case e.failing():
		if t.n == 0 {
			t.successes = h.breaker.successCount(e.class)
		} else if !ok {
			h.breaker.gaveUp(e.class, t.successes)
		}
		return ok && !h.breaker.isBroken(e.class)
	}
	return ok
}

// attempts counts the attempts of something that progresses in bytes.
type attempts struct {
	n         int   // since progress was last made
	from      int64 // the offset of that
	successes int64 // the count of the host's breaker at the first failure since

	// For how long the network was silent or slow since, and what the server had sent before.
	silent, slow time.Duration
	heard        int64
}

// next waits before the next attempt, after one that ended with err at an offset, or returns the
// error that ends all attempts.
func (t *attempts) next(ctx context.Context, c *Client, err error, at int64) error {
	if ctx.Err() != nil {
		return interrupted(ctx, err)
	}
	if at-t.from >= minProgress {
		*t = attempts{from: at}
	}
	err = c.waitToRetry(ctx, err, t)
	t.n++
	return err
}

// minProgress is how many further bytes of a broken blob must be read for its attempts to be
// counted anew.
const minProgress = 1 << 20

// waitedEnough records that a request ended with e because the network was silent or slow, and
// reports whether it is retried no more: after its first retry, and all in all after
// Options.SilentTimeout without anything from the server. Then it mutes the server.
func (t *attempts) waitedEnough(c *Client, e *Error) bool {
	t.slow += e.slow
	if e.silent > 0 && e.peer != nil {
		if heard := e.peer.heard.Load(); heard != t.heard {
			t.heard, t.silent = heard, 0
		}
		t.silent += e.silent
	}
	if t.n == 0 {
		return false
	}
	if e.silent > 0 && t.silent >= c.o.SilentTimeout {
		e.Hint = "check the server, and the firewalls and proxies on the way; if it only takes long, raise Options.SilentTimeout"
		e.peer.mute(c.o.Clock.Now().Add(c.idle()))
		return true
	}
	return e.slow > 0 && t.slow >= c.o.SilentTimeout
}

// maxWait returns how long a request may wait for all of its retries, if the registry sends no
// Retry-After.
func (r Retry) maxWait() time.Duration {
	var all time.Duration
	for n := range r.times() {
		if r.Delay > 0 {
			all += r.Delay
		} else {
			all += min(firstDelay<<min(n, 10), maxDelay)
		}
	}
	return all.Round(time.Second)
}
