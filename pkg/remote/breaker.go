package remote

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// A class is a kind of request that a registry may fail at while it serves the
// others.
type class int

const (
	otherClass class = iota
	blobReads
	manifestReads
	writes
	classes
)

// class tells which class r belongs to.
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

// A breaker knows what a host fails at, with 5xx, connections that break, or an
// address behind it that is not there, such as a CDN's: where one request of a class
// used up its attempts and nothing of that class went well meanwhile, those that
// come after it are not repeated, until one goes well. Thousands would wait in
// vain otherwise, as at a registry whose disk is full.
type breaker struct {
	mu     sync.Mutex
	well   [classes]int64 // answers that were hoped for
	broken [classes]bool
}

// answered notes the answer to r. Of an upload only its end counts: a full disk
// may still open one.
func (b *breaker) answered(r *request, status int) {
	c := r.class()
	if status >= http.StatusMultipleChoices || c == writes && status != http.StatusCreated && (status != http.StatusNoContent || r.method != http.MethodPut) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.well[c]++
	b.broken[c] = false
}

// count is how many answers of a class were those hoped for.
func (b *breaker) count(c class) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.well[c]
}

// gaveUp notes that a request of a class was made until its attempts were used
// up. since is what count told when it had failed first.
func (b *breaker) gaveUp(c class, since int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken[c] = b.broken[c] || b.well[c] == since
}

func (b *breaker) isBroken(c class) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken[c]
}

// failing reports whether e is about what a host that is there fails at, and may do
// later.
func (e *Error) failing() bool {
	return e.again && !e.away && e.from != nil && (e.Status == 0 || errors.Is(e.Err, ErrFailing))
}

// quiet is for how long no more is said of a host that was said to be in trouble.
const quiet = time.Minute

// trouble is what was said of a host that does not do as it should.
type trouble struct {
	mu    sync.Mutex
	said  time.Time // when that was said last
	since time.Time // when it went away, and that was said; zero while it is there
	back  bool      // that it is back was said since
}

// say reports whether there is something to say of a request that is made again.
func (t *trouble) say(now time.Time, away bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	say := t.said.IsZero() || now.Sub(t.said) >= quiet
	if say {
		t.said, t.back = now, false
	}
	if away && t.since.IsZero() && !t.back {
		t.since = now
	}
	return say
}

// over reports whether the host is back, and how long it was away.
func (t *trouble) over(now time.Time) (away time.Duration, back bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		return 0, false
	}
	away, t.since, t.back = now.Sub(t.since), time.Time{}, true
	return away, true
}

// longest is how long a request may wait for further attempts in all, where the
// registry does not say how long.
func (r Retry) longest() time.Duration {
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
