package remote

import "time"

// MaxStreams is the highest number of concurrent requests to one host, if Options set no limit.
const MaxStreams = 64

const (
	// startLimit is the limit at the start.
	startLimit = 8
	// If none of the first responses takes less than remoteLatency, the host is remote, and the
	// limit starts at remoteStart: measured windows of large blobs would raise it too late.
	remoteLatency  = 20 * time.Millisecond
	remoteStart    = 32
	firstResponses = 4

	// A window is measured until as many responses as two per stream, within these times.
	shortWindow = 100 * time.Millisecond
	longWindow  = 2 * time.Second
	// A response counts as much as answerWorth bytes.
	answerWorth = 128 << 10

	// A higher limit is kept if it brings this share of what it would bring at an ideal host; a
	// lower one if this share of the work is still done.
	worthGain = 0.3
	worthKeep = 0.95
	// If the latency is this many times its best, requests are assumed to wait for each other.
	crowded = 2
	// After a trial failed, firstRest windows pass before the next one, then twice as many each
	// time.
	firstRest = 4
	longRest  = 64
)

// An adaptiveLimit finds out how many concurrent requests serve a run best; current is the result.
// It tries: how much work was done per second, responses and bytes, in a window at another limit,
// compared with the window before?
//
//   - Upwards, as long as requests wait for a stream: doubled at first, by a
//     quarter after that brought nothing. At a remote host, and at one that
//     waits for its disk, throughput grows with the limit; at one whose
//     processors are busy, it does not.
//   - Downwards, when responses take much longer than at best: then requests
//     wait for each other, and fewer may do the same work.
//   - A host that refuses (429, 503) gets half as many, and then one more in
//     each window, up to one less than what it refused; beyond that, rarely.
//
// It has no clock and knows no host: its methods are called with what happened.
type adaptiveLimit struct {
	most    int // the highest limit, at least 1
	current int // 1 to most

	// The current window.
	since     time.Time
	bytes     int64 // moved before it began
	answers   int
	saturated bool // a request had to wait for a stream
	mixed     bool // earlier requests are still in progress, at most this many:
	under     int
	kinds     map[requestKind]*latency

	firsts  int           // how many of the first responses came
	fastest time.Duration // the latency of the fastest of them

	baseline int     // the limit that a trial is compared with
	rate     float64 // the work per second at baseline; 0 if unknown
	trial    bool    // current is a trial
	doubling bool    // no trial upwards has failed yet
	lastDown bool    // the last failed trial was downwards
	rest     int     // windows until the next trial
	nextRest int     // the rest after the next failed trial

	cuts    int // how often the host's refusals lowered the limit
	ceiling int // the limit that it accepted since it refused; 0 if it did not refuse, or not recently
}

// A requestKind is a kind of request whose latencies can be compared.
type requestKind struct{ method, kind string }

// A latency belongs to one kind of request.
type latency struct {
	best time.Duration // the mean of the best window, forgotten slowly
	sum  time.Duration // of this window
	n    int
}

func newAdaptiveLimit(most int) *adaptiveLimit {
	limit := min(startLimit, most)
	return &adaptiveLimit{most: most, current: limit, baseline: limit, doubling: true, nextRest: firstRest, kinds: map[requestKind]*latency{}}
}

// answered records a response that took a time after its request; 0 if unknown. moved is how many
// bytes the host has transferred in all.
func (w *adaptiveLimit) answered(now time.Time, moved int64, k requestKind, took time.Duration) {
	w.answers++
	if took > 0 {
		l := w.kinds[k]
		if l == nil {
			l = &latency{}
			w.kinds[k] = l
		}
		l.sum += took
		l.n++
		w.detectRemote(now, moved, l, took)
	}
	w.tick(now, moved)
}

// detectRemote raises the limit once if the first responses show that the host is remote.
// Later latencies are compared with theirs.
func (w *adaptiveLimit) detectRemote(now time.Time, moved int64, l *latency, took time.Duration) {
	if w.firsts == firstResponses {
		return
	}
	if w.firsts++; w.firsts == 1 || took < w.fastest {
		w.fastest = took
	}
	if w.firsts == firstResponses && w.fastest >= remoteLatency && w.cuts == 0 && !w.trial {
		l.best = w.fastest
		w.setCurrent(max(w.current, min(remoteStart, w.most)))
		w.begin(now, moved)
	}
}

// tick ends the window if enough was measured.
func (w *adaptiveLimit) tick(now time.Time, moved int64) {
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
	if elapsed < shortWindow || w.answers < 2*w.current && elapsed < longWindow {
		return
	}
	work := float64(w.answers) + float64(moved-w.bytes)/answerWorth
	crowding, full := w.crowding(), w.saturated
	w.begin(now, moved)
	w.judge(work/elapsed.Seconds(), crowding, full)
}

func (w *adaptiveLimit) begin(now time.Time, moved int64) {
	w.since, w.bytes, w.answers, w.saturated, w.mixed = now, moved, 0, false, false
}

// crowding returns how many times its best the latency was in the window, all kinds weighted by
// their frequency.
func (w *adaptiveLimit) crowding() float64 {
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

// judge evaluates a window: the work per second, the crowding, and whether the limit restricted the
// work.
func (w *adaptiveLimit) judge(rate, crowding float64, full bool) {
	switch {
	case !full:
		// The limit made no difference, so nothing can be learned about it.
		w.endTrial()
		w.rate = 0
		return
	case w.trial:
		if !w.better(rate) {
			w.trialFailed()
			return
		}
		w.trial, w.baseline, w.nextRest, w.rest = false, w.current, firstRest, 0
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
	case w.ceiling > 0 && w.current < w.ceiling:
		w.setCurrent(w.current + 1)
	case w.rest > 0:
	case w.current > 1 && crowding >= crowded && !w.lastDown:
		w.try(min(w.current-1, w.current*3/4))
	case w.ceiling > 0:
		w.lastDown = false
		if w.ceiling++; w.ceiling > w.most {
			w.ceiling = 0
		}
		w.rest = longRest / 2
	case w.current < w.most && w.doubling:
		w.try(min(2*w.current, w.most))
	case w.current < w.most:
		w.lastDown = false
		w.try(min(max(w.current+1, w.current*5/4), w.most))
	default:
		w.lastDown = false
	}
}

// try changes the limit to measure the effect.
func (w *adaptiveLimit) try(limit int) {
	w.current, w.trial = limit, true
	w.mixed, w.under = true, w.baseline
}

// better reports whether the work per second is a reason to keep the limit on trial.
func (w *adaptiveLimit) better(rate float64) bool {
	if w.current < w.baseline {
		return rate >= worthKeep*w.rate
	}
	more := float64(w.current)/float64(w.baseline) - 1
	return rate >= w.rate*(1+worthGain*more)
}

// trialFailed ends a trial without an improvement.
func (w *adaptiveLimit) trialFailed() {
	w.lastDown = w.current < w.baseline
	if !w.lastDown {
		w.doubling = false
	}
	w.under = w.current
	w.endTrial()
	w.rest, w.nextRest = w.nextRest, min(2*w.nextRest, longRest)
	w.mixed = true
}

// endTrial ends a trial without a result.
func (w *adaptiveLimit) endTrial() {
	w.current, w.trial, w.mixed = w.baseline, false, false
}

// setCurrent sets the limit without a trial.
func (w *adaptiveLimit) setCurrent(limit int) {
	w.current, w.baseline, w.trial, w.rate = limit, limit, false, 0
}

// refused records that the host refuses requests as too many. cuts is the value of w.cuts when the
// request was sent: of several refusals for the same limit, one counts. It reports whether this one
// did. known means that the host gives the number of requests as the reason (429), which it will do
// again; otherwise (503), it may have a temporary problem.
func (w *adaptiveLimit) refused(now time.Time, moved int64, cuts int, known bool) bool {
	if cuts != w.cuts {
		return false
	}
	w.cuts++
	if known {
		w.ceiling = max(1, w.current-1)
		w.doubling = false
	} else {
		w.doubling = true
	}
	w.setCurrent(max(1, w.current/2))
	w.rest = longRest / 2
	if !known {
		w.rest = firstRest
	}
	w.begin(now, moved)
	return true
}
