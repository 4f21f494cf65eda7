package remote

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// A class is a kind of request. A registry may fail for one class and serve the others.
type class int

const (
	otherClass class = iota
	blobReads
	manifestReads
	writes
	classes
)

// class returns the class of r.
func (r *request) class() class {
	switch {
	case r.kind == "upload", r.kind == "manifest" && r.method == http.MethodPut:
		return writes
	case r.kind == "blob":
		return blobReads
	case r.kind == "manifest":
		return manifestReads
	}
	return otherClass
}

// A breaker records what a host fails at, with 5xx, connections that break, or an unreachable
// address behind it, such as a CDN's. After one request of a class used up its attempts without any
// success in that class meanwhile, later requests of the class are not retried, until one succeeds.
// Otherwise, thousands of requests would wait for nothing, for example at a registry whose disk is full.
type breaker struct {
	mu        sync.Mutex
	successes [classes]int64 // successful responses
	broken    [classes]bool
}

// answered records the response to r. For an upload, only its end counts: a registry with a full
// disk may still open one.
func (b *breaker) answered(r *request, status int) {
	c := r.class()
	if status >= http.StatusMultipleChoices || c == writes && status != http.StatusCreated && (status != http.StatusNoContent || r.method != http.MethodPut) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.successes[c]++
	b.broken[c] = false
}

// successCount returns how many responses of a class were successful.
func (b *breaker) successCount(c class) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.successes[c]
}

// gaveUp records that a request of a class used up its attempts. since is what successCount
// returned at its first failure.
func (b *breaker) gaveUp(c class, since int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken[c] = b.broken[c] || b.successes[c] == since
}

func (b *breaker) isBroken(c class) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken[c]
}

// failing reports whether e is about a failure of a reachable host that may be temporary.
func (e *Error) failing() bool {
	return e.retryable && !e.unreachable && e.from != nil && (e.Status == 0 || errors.Is(e.Err, ErrFailing))
}

// logInterval is for how long no further problem of a host is logged.
const logInterval = time.Minute

// trouble is what was logged about a host with problems.
type trouble struct {
	mu         sync.Mutex
	lastLogged time.Time // when a problem was last logged
	since      time.Time // when it became unreachable, if that was logged; otherwise zero
	recovered  bool      // its recovery was logged since
}

// shouldLog reports whether to log a request that is retried.
func (t *trouble) shouldLog(now time.Time, away bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	say := t.lastLogged.IsZero() || now.Sub(t.lastLogged) >= logInterval
	if say {
		t.lastLogged, t.recovered = now, false
	}
	if away && t.since.IsZero() && !t.recovered {
		t.since = now
	}
	return say
}

// ended reports whether the host has recovered, and how long it was unreachable.
func (t *trouble) ended(now time.Time) (away time.Duration, back bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		return 0, false
	}
	away, t.since, t.recovered = now.Sub(t.since), time.Time{}, true
	return away, true
}
