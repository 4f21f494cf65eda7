package remote

import (
	"container/heap"
	"testing"
	"time"
)

// An event is the end of a request in simulated time.
type event struct {
	at, sent time.Duration
	refused  bool
	cuts     int
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// A simulation is a host that serves requests in simulated time, and a run that always has more of
// them.
type simulation struct {
	// serve says when a request that is sent now ends, with this many under way
	// besides, and whether it is refused.
	serve  func(now time.Duration, under int) (end time.Duration, refused bool)
	most   int
	demand int // requests that wait or are under way
	size   int64
}

// outcome is the result of the second half of the time.
type outcome struct {
	perSecond float64
	refused   float64 // part of the answers
	low, high int     // the width
}

func (s simulation) run(length time.Duration) outcome {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := newAdaptiveLimit(s.most)
	var p pace
	var queue events
	var now, turn time.Duration // turn: when the pace lets the next request go
	var moved int64
	o := outcome{low: s.most}
	var good, bad int
	under := 0
	for now < length {
		for under < min(w.current, s.demand) {
			at := max(now, turn)
			if wait, again := p.next(start.Add(at)); wait > 0 || again {
				at += wait
			}
			turn = at
			end, refused := s.serve(at, under)
			heap.Push(&queue, event{at: end, sent: at, refused: refused, cuts: w.cuts})
			under++
		}
		w.saturated = w.saturated || s.demand > under
		e := heap.Pop(&queue).(event)
		now, under = e.at, under-1
		if now > length/2 {
			if e.refused {
				bad++
			} else {
				good++
			}
			o.low, o.high = min(o.low, w.current), max(o.high, w.current)
		}
		if e.refused {
			if w.refused(start.Add(now), moved, e.cuts, true) {
				p.refused(start.Add(now))
			}
			continue
		}
		moved += s.size
		p.answered(start.Add(now))
		w.answered(start.Add(now), moved, requestKind{"GET", "blob"}, e.at-e.sent)
	}
	o.perSecond = float64(good) / (length / 2).Seconds()
	o.refused = float64(bad) / float64(good+bad)
	return o
}

// workers is a host that serves n requests at a time, each for d, one after the
// other.
func workers(n int, d time.Duration) func(time.Duration, int) (time.Duration, bool) {
	free := make([]time.Duration, n)
	return func(now time.Duration, _ int) (time.Duration, bool) {
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		free[first] = max(now, free[first]) + d
		return free[first], false
	}
}

func TestAdaptiveLimit(t *testing.T) {
	far := func(now time.Duration, _ int) (time.Duration, bool) { return now + 50*time.Millisecond, false }
	for _, tc := range []struct {
		name    string
		s       simulation
		want    float64 // answers per second, at least
		low     int     // the width stays within
		high    int
		refused float64 // at most this part
	}{
		{name: "far away", s: simulation{serve: far, demand: 1000}, want: 1270, low: 64, high: 64},
		{name: "far away, and the user sets a bound", s: simulation{serve: far, most: 20, demand: 1000}, want: 395, low: 20, high: 20},
		{name: "one at a time, the user wants", s: simulation{serve: far, most: 1, demand: 1000}, want: 19, low: 1, high: 1},
		{name: "far away, and little to do", s: simulation{serve: far, demand: 8}, want: 155, low: 8, high: remoteStart},
		// The best width is n, and at most twice as many are kept or tried.
		{name: "two processors", s: simulation{serve: workers(2, 2*time.Millisecond), demand: 1000}, want: 950, low: 2, high: 20},
		{name: "ten slow processors", s: simulation{serve: workers(10, 100*time.Millisecond), demand: 1000}, want: 95, low: 8, high: 25},
		{name: "forty processors", s: simulation{serve: workers(40, 20*time.Millisecond), demand: 1000}, want: 1900, low: 32, high: 64},
		{name: "a link that bodies fill", s: simulation{serve: workers(1, 80*time.Millisecond), demand: 1000, size: 8 << 20}, want: 12, low: 1, high: 16},
		// A disk takes 25 ms for whatever is there, and a little for each.
		{name: "a registry that fsyncs", s: simulation{serve: func(now time.Duration, under int) (time.Duration, bool) {
			return now + 25*time.Millisecond + time.Duration(under)*time.Millisecond/2, false
		}, demand: 1000}, want: 1000, low: 48, high: 64},
		{name: "refuses more than ten at a time", s: simulation{serve: func(now time.Duration, under int) (time.Duration, bool) {
			if under >= 10 {
				return now + time.Millisecond, true
			}
			return now + 50*time.Millisecond, false
		}, demand: 1000}, want: 120, low: 4, high: 11, refused: 0.01},
		{name: "refuses more than thirty per second", s: simulation{serve: bucketOf(30), demand: 1000}, want: 21, low: 1, high: 64, refused: 0.05},
		{name: "refuses more than two per second", s: simulation{serve: bucketOf(2), demand: 1000}, want: 1.9, low: 1, high: 64, refused: 0.3},
		{name: "refuses one of five, whatever it is sent", s: simulation{serve: oneOf(5, 5*time.Millisecond), demand: 1000}, want: 100, low: 1, high: 64, refused: 0.21},
		{name: "refuses one of five, far away", s: simulation{serve: oneOf(5, 50*time.Millisecond), demand: 1000}, want: 10, low: 1, high: 64, refused: 0.21},
		{name: "refuses one of two, whatever it is sent", s: simulation{serve: oneOf(2, 5*time.Millisecond), demand: 1000}, want: 0.4, low: 1, high: 64, refused: 0.51},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.s.most == 0 {
				tc.s.most = MaxStreams
			}
			simulated := 2 * time.Minute
			if testing.Short() && tc.want > 100 {
				simulated = 30 * time.Second
			}
			got := tc.s.run(simulated)
			t.Logf("%+v", got)
			if got.perSecond < tc.want || got.low < tc.low || got.high > tc.high || got.refused > tc.refused {
				t.Errorf("got %+v, want %v answers per second, a width of %d to %d and %v refused", got, tc.want, tc.low, tc.high, tc.refused)
			}
		})
	}
}

// TestAdaptiveLimitAtStart checks how fast the limit becomes right: in the first second, a remote
// host serves most of what it can, and a slow host that is near is not overloaded.
func TestAdaptiveLimitAtStart(t *testing.T) {
	for _, tc := range []struct {
		name  string
		serve func(time.Duration, int) (time.Duration, bool)
		want  float64 // responses per second, at least
		high  int     // the limit stays at or below it
	}{
		{"remote", func(now time.Duration, _ int) (time.Duration, bool) { return now + 50*time.Millisecond, false }, 600, MaxStreams},
		{"remote, with large blobs", func(now time.Duration, _ int) (time.Duration, bool) { return now + 400*time.Millisecond, false }, 60, MaxStreams},
		{"near", workers(2, 2*time.Millisecond), 950, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// The outcome of the second half counts.
			if got := (simulation{serve: tc.serve, most: MaxStreams, demand: 1000}).run(time.Second); got.perSecond < tc.want || got.high > tc.high {
				t.Errorf("got %+v, want %v responses per second and a limit of at most %d", got, tc.want, tc.high)
			}
		})
	}
}

// bucketOf is a host 20 ms away that refuses what is more than n per second.
func bucketOf(n float64) func(time.Duration, int) (time.Duration, bool) {
	tokens, last := n, time.Duration(0)
	return func(now time.Duration, _ int) (time.Duration, bool) {
		tokens = min(n, tokens+(now-last).Seconds()*n)
		last = now
		if tokens < 1 {
			return now + 20*time.Millisecond, true
		}
		tokens--
		return now + 20*time.Millisecond, false
	}
}

// oneOf is a host that refuses every nth request, at any rate.
func oneOf(n int, d time.Duration) func(time.Duration, int) (time.Duration, bool) {
	served := 0
	return func(now time.Duration, _ int) (time.Duration, bool) {
		served++
		return now + d, served%n == 0
	}
}
