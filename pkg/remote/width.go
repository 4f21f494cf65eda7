package remote

import "time"

// MostStreams is how many requests may be under way at a host that bears them,
// where Options set no bound.
const MostStreams = 64

const (
	// startWidth is with how many it begins.
	startWidth = 8

	// A window of measuring lasts for two turns of all streams, and these times.
	shortWindow = 100 * time.Millisecond
	longWindow  = 2 * time.Second
	// answerWorth is how many bytes count as much as an answer.
	answerWorth = 128 << 10

	// A larger width is kept when it brings this part of what it would bring at
	// a host that minds nothing; a smaller one when this much of the work still
	// is done.
	worthGain = 0.3
	worthKeep = 0.95
	// crowded is from how many times the latency at its best a host's requests
	// are taken to wait for each other.
	crowded = 2
	// After a width was tried in vain, firstRest windows pass before the next
	// is, then twice as many each time.
	firstRest = 4
	longRest  = 64
)

// A width finds out how many requests at the same time serve a run best, and
// says so in limit. It tries: in a window at another limit, how much work was
// done per second, answers and bytes, compared with the window before?
//
//   - Upwards, as long as somebody waits for a stream: doubled at first, by a
//     quarter once that brought nothing. At a host far away and at one that
//     waits for its disk, throughput grows with the width; at one whose
//     processors are busy it does not.
//   - Downwards, when answers take much longer than they did at best: then
//     requests wait for each other, and fewer may do the same work.
//   - A host that refuses (429, 503) is sent half as many, and then one more in
//     each window, up to one less than what it refused; beyond that, rarely.
//
// It knows no clock and no host: what happened is told to it.
type width struct {
	most  int // the bound, at least 1
	limit int // 1 to most

	// The window that is being measured.
	since   time.Time
	bytes   int64 // moved before it began
	answers int
	full    bool // somebody had to wait for a stream
	mixed   bool // requests from before it are under way, at most this many:
	under   int
	kinds   map[kind]*latency

	settled int     // the limit that is known, which a trial is compared with
	rate    float64 // the work per second there; 0: not known
	trial   bool    // limit is another one, to see whether it does better
	steep   bool    // no trial upwards was in vain yet
	fell    bool    // the last trial in vain was one downwards
	rest    int     // windows until the next trial
	vain    int     // the rest after the next trial in vain

	cuts    int // how often the host's refusal made the limit smaller
	ceiling int // what it stood since it refused; 0: it did not, or not for long
}

// A kind is a sort of request, whose latencies can be compared.
type kind struct{ method, kind string }

// latency is that of one kind of request.
type latency struct {
	best time.Duration // the mean of the best window, forgotten slowly
	sum  time.Duration // of this window
	n    int
}

func newWidth(most int) *width {
	limit := min(startWidth, most)
	return &width{most: most, limit: limit, settled: limit, steep: true, vain: firstRest, kinds: map[kind]*latency{}}
}

// answered is told of an answer that took a time after its request; 0 where
// that is not known. moved is how many bytes the host has moved in all.
func (w *width) answered(now time.Time, moved int64, k kind, took time.Duration) {
	w.answers++
	if took > 0 {
		l := w.kinds[k]
		if l == nil {
			l = &latency{}
			w.kinds[k] = l
		}
		l.sum += took
		l.n++
	}
	w.tick(now, moved)
}

// tick ends the window when enough was seen.
func (w *width) tick(now time.Time, moved int64) {
	if w.since.IsZero() {
		w.begin(now, moved)
		return
	}
	elapsed := now.Sub(w.since)
	if w.mixed {
		if w.answers >= w.under || elapsed >= longWindow {
			w.begin(now, moved)
		}
		return
	}
	if elapsed < shortWindow || w.answers < 2*w.limit && elapsed < longWindow {
		return
	}
	work := float64(w.answers) + float64(moved-w.bytes)/answerWorth
	crowding, full := w.crowding(), w.full
	w.begin(now, moved)
	w.judge(work/elapsed.Seconds(), crowding, full)
}

func (w *width) begin(now time.Time, moved int64) {
	w.since, w.bytes, w.answers, w.full, w.mixed = now, moved, 0, false, false
}

// crowding is how many times its best the latency was in the window, all kinds
// weighed by how often they occurred.
func (w *width) crowding() float64 {
	var now, best float64
	for _, l := range w.kinds {
		if l.n == 0 {
			continue
		}
		mean := l.sum / time.Duration(l.n)
		if l.best == 0 || mean < l.best {
			l.best = mean
		}
		now += float64(l.sum)
		best += float64(l.best) * float64(l.n)
		l.best += (mean - l.best) / 512
		l.sum, l.n = 0, 0
	}
	if best == 0 {
		return 1
	}
	return now / best
}

// judge draws the conclusion from a window: the work per second in it, the
// crowding, and whether the limit was what held the work back.
func (w *width) judge(rate, crowding float64, full bool) {
	switch {
	case !full:
		// The limit made no difference, so that nothing can be learnt about it.
		w.back()
		w.rate = 0
		return
	case w.trial:
		if !w.better(rate) {
			w.inVain()
			return
		}
		w.trial, w.settled, w.vain, w.rest = false, w.limit, firstRest, 0
		w.rate = rate
	case w.rate == 0:
		w.rate = rate
	default:
		w.rate = (w.rate + rate) / 2
	}
	if w.rest > 0 {
		w.rest--
	}
	switch {
	case w.ceiling > 0 && w.limit < w.ceiling:
		w.settle(w.limit + 1)
	case w.rest > 0:
	case w.limit > 1 && crowding >= crowded && !w.fell:
		w.try(min(w.limit-1, w.limit*3/4))
	case w.ceiling > 0:
		w.fell = false
		if w.ceiling++; w.ceiling > w.most {
			w.ceiling = 0
		}
		w.rest = longRest / 2
	case w.limit < w.most && w.steep:
		w.try(min(2*w.limit, w.most))
	case w.limit < w.most:
		w.fell = false
		w.try(min(max(w.limit+1, w.limit*5/4), w.most))
	default:
		w.fell = false
	}
}

// try changes the limit to see what that brings.
func (w *width) try(limit int) {
	w.limit, w.trial = limit, true
	w.mixed, w.under = true, w.settled
}

// better reports whether the work per second speaks for the limit on trial.
func (w *width) better(rate float64) bool {
	if w.limit < w.settled {
		return rate >= worthKeep*w.rate
	}
	more := float64(w.limit)/float64(w.settled) - 1
	return rate >= w.rate*(1+worthGain*more)
}

// inVain ends a trial that brought nothing.
func (w *width) inVain() {
	w.fell = w.limit < w.settled
	if !w.fell {
		w.steep = false
	}
	w.under = w.limit
	w.back()
	w.rest, w.vain = w.vain, min(2*w.vain, longRest)
	w.mixed = true
}

// back ends a trial without a result.
func (w *width) back() {
	w.limit, w.trial, w.mixed = w.settled, false, false
}

// settle takes a limit without a trial.
func (w *width) settle(limit int) {
	w.limit, w.settled, w.trial, w.rate = limit, limit, false, 0
}

// refused is told that the host says it is asked too much. cuts is what w.cuts
// was when the request was sent: of refusals to what was sent at one width, one
// counts. It reports whether this one did. known is set where the host names
// the number of requests as the reason (429), which it will do again; else
// (503) it may be in trouble of its own, and be as good as before afterwards.
func (w *width) refused(now time.Time, moved int64, cuts int, known bool) bool {
	if cuts != w.cuts {
		return false
	}
	w.cuts++
	if known {
		w.ceiling = max(1, w.limit-1)
		w.steep = false
	} else {
		w.steep = true
	}
	w.settle(max(1, w.limit/2))
	w.rest = longRest / 2
	if !known {
		w.rest = firstRest
	}
	w.begin(now, moved)
	return true
}
