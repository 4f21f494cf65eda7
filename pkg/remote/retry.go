package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Retry says how often and when a request is made again.
type Retry struct {
	// Times is the number of further attempts; 0 means 8, -1 none. With the
	// default delays those last for 46 to 92 seconds, in which a registry can
	// be restarted.
	Times int
	// Delay is the time between attempts; 0 means half a second, then twice as
	// long each time up to 30 s, less a random part. Retry-After goes first.
	Delay time.Duration
}

// An Again is a further attempt that is going to be made.
type Again struct {
	Host    string // the registry, as references have it: "quay.io"
	Attempt int    // its number; 2 is the first that follows another
	Wait    time.Duration
	Err     *Error // what went wrong: its Op is what is tried again
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

// wait returns how long to wait before attempt n+1 (from 0), and whether there
// is to be one.
func (r Retry) wait(err error, n int) (time.Duration, bool) {
	var f final
	var e *Error
	if n >= r.times() || errors.As(err, &f) || !errors.As(err, &e) || !e.again {
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

// retry calls f until it succeeds, fails for good, or the policy or the context
// ends.
func (c *Client) retry(ctx context.Context, f func(context.Context) error) error {
	var t tries
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if err := t.again(ctx, c, err, 0); err != nil {
			return err
		}
	}
}

// pause waits before the attempt that follows t.n others and the one that ended
// with err, and returns err where there is to be none. A host that one request
// waited for in vain is not waited for by those that come after it, until it
// answers: thousands would, one after the other. For what it fails at the same
// holds; see [breaker].
func (c *Client) pause(ctx context.Context, err error, t *tries) error {
	n := t.n
	d, ok := c.o.Retry.wait(err, n)
	var e *Error
	if errors.As(err, &e) && e.from != nil {
		ok = e.from.worth(e, t, ok)
	}
	if !ok {
		if n > 0 {
			return fmt.Errorf("%w (after %d attempts)", err, n+1)
		}
		return err
	}
	level := slog.LevelDebug
	if e != nil && e.from != nil {
		e.from.stats.retries.Add(1)
		if c.o.OnRetry != nil {
			c.o.OnRetry(Again{Host: e.from.name, Attempt: n + 2, Wait: d, Err: e})
		}
		if e.from.trouble.say(c.o.Clock.Now(), e.away) {
			short := *e
			short.Hint = ""
			c.o.Log.Warn("a server does not answer as it should; its requests are made again", "host", e.from.name, "err", &short, "wait", d, "upTo", max(d, c.o.Retry.longest()))
		}
	} else {
		level = slog.LevelWarn
	}
	c.o.Log.Log(ctx, level, "trying again", "err", err, "attempt", n+2, "wait", d)
	if c.o.Clock.Wait(ctx, d) != nil {
		return interrupted(ctx, err)
	}
	return nil
}

// worth reports whether a request that ended with e, after t.n attempts before,
// is made again, where the policy says ok. It learns from those that are not.
func (h *host) worth(e *Error, t *tries, ok bool) bool {
	switch {
	case e.away:
		if t.n > 0 && !ok {
			h.gone.Store(true)
		}
		return ok && (t.n > 0 || !h.gone.Load())
	case e.failing():
		if t.n == 0 {
			t.well = h.breaker.count(e.class)
		} else if !ok {
			h.breaker.gaveUp(e.class, t.well)
		}
		return ok && !h.breaker.isBroken(e.class)
	}
	return ok
}

// interrupted is what ended the context, with what had gone wrong before.
func interrupted(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w (%v)", cause, err) //nolint:errorlint // the interruption decides, not what it interrupted
	}
	return err
}

// temporary reports whether a status is worth another attempt. 501 says that it
// never will be.
func temporary(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests ||
		status >= 500 && status != http.StatusNotImplemented
}

// retryAfter reads the header of that name: seconds or an HTTP date (RFC 9110,
// 10.2.3). 0 means that it says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if s, err := strconv.ParseUint(value, 10, 32); err == nil {
		return time.Duration(s) * time.Second
	} else if errors.Is(err, strconv.ErrRange) {
		return maxRetryAfter
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}
