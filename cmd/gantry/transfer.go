package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A transfer is what a copy took. It differs from run to run, so that people are
// told of it on stderr, and stdout stays the same for the same work.
type transfer struct {
	// Seconds is the time of the copy, planning not included.
	Seconds float64 `json:"seconds"`
	// The bytes are those of mirror.Progress.
	BytesMoved   int64 `json:"bytesMoved"`
	BytesFound   int64 `json:"bytesFound"`
	BytesMounted int64 `json:"bytesMounted"`
	BytesShared  int64 `json:"bytesShared"`
	// BytesPerSecond is that of what was moved.
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// Requests and Retries are those of the whole run, planning included.
	Requests struct {
		Source      int64 `json:"source"`
		Destination int64 `json:"destination"`
	} `json:"requests"`
	Retries int64 `json:"retries"`
	// Slowest is the host that gave or took least in a second of the copy; ""
	// where no host was clearly slower than another.
	Slowest string       `json:"slowest,omitempty"`
	Hosts   []hostFigure `json:"hosts"`
}

// A hostFigure is what was done at a registry in the whole run.
type hostFigure struct {
	Side           string  `json:"side"` // "source" or "destination"
	Host           string  `json:"host"`
	Requests       int64   `json:"requests"`
	Retries        int64   `json:"retries"`
	BytesRead      int64   `json:"bytesRead"`
	BytesWritten   int64   `json:"bytesWritten"`
	BusySeconds    float64 `json:"busySeconds"`
	LatencySeconds float64 `json:"latencySeconds"`

	busy time.Duration
}

// hosts is what the run did so far, the sources first, sorted by name.
func (a *app) hosts() []hostFigure {
	list := []hostFigure{}
	for _, c := range a.clients {
		for _, h := range c.Stats().Hosts {
			list = append(list, hostFigure{
				Side: sideName(c.side), Host: h.Name, Requests: h.Requests, Retries: h.Retries,
				BytesRead: h.BytesRead, BytesWritten: h.BytesWritten,
				BusySeconds: milli(h.Busy), LatencySeconds: milli(h.Latency), busy: h.Busy,
			})
		}
	}
	slices.SortFunc(list, func(a, b hostFigure) int {
		return cmp.Or(-strings.Compare(a.Side, b.Side), strings.Compare(a.Host, b.Host))
	})
	return list
}

func sideName(side remote.Side) string {
	if side == remote.Destination {
		return "destination"
	}
	return "source"
}

// milli is a time in seconds, to the millisecond.
func milli(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// newTransfer sums up a copy that took a while and ended where at says. The
// hosts are those before and after it.
func newTransfer(at mirror.Progress, took time.Duration, before, after []hostFigure) *transfer {
	t := &transfer{
		Seconds:    milli(took),
		BytesMoved: at.Moved, BytesFound: at.Found, BytesMounted: at.Mounted, BytesShared: at.Shared,
		Hosts: after,
	}
	if took > 0 {
		t.BytesPerSecond = int64(float64(at.Moved) / took.Seconds())
	}
	for _, h := range after {
		if h.Side == sideName(remote.Destination) {
			t.Requests.Destination += h.Requests
		} else {
			t.Requests.Source += h.Requests
		}
		t.Retries += h.Retries
	}
	t.Slowest = slowest(before, after)
	return t
}

// What slowest looks at: hosts that were busy for at least as long, and a
// difference that is not chance.
const (
	leastBusy = time.Second
	clearly   = 0.8
)

// slowest is the host that gave or took least in a second in which it was busy
// between two readings.
func slowest(before, after []hostFigure) (host string) {
	least, next := math.Inf(1), math.Inf(1)
	for _, h := range after {
		i := slices.IndexFunc(before, func(b hostFigure) bool { return b.Side == h.Side && b.Host == h.Host })
		bytes, busy := h.BytesRead+h.BytesWritten, h.busy
		if i >= 0 {
			bytes -= before[i].BytesRead + before[i].BytesWritten
			busy -= before[i].busy
		}
		if busy < leastBusy {
			continue
		}
		rate := float64(bytes) / busy.Seconds()
		if rate < least {
			host, least, next = h.Host, rate, least
		} else {
			next = min(next, rate)
		}
	}
	if math.IsInf(next, 1) || least > clearly*next {
		return ""
	}
	return host
}

// then is what two copies took, one after the other. whole says that the second
// found what the first had brought. A nil transfer was none.
func (t *transfer) then(next *transfer, whole bool) *transfer {
	if t == nil {
		return next
	}
	all := *next // its counts of requests are of the whole run
	all.Seconds = t.Seconds + next.Seconds
	all.BytesMoved += t.BytesMoved
	all.BytesMounted += t.BytesMounted
	if whole {
		all.BytesFound = t.BytesFound
	} else {
		all.BytesFound += t.BytesFound
		all.BytesShared += t.BytesShared
	}
	if all.Seconds > 0 {
		all.BytesPerSecond = int64(float64(all.BytesMoved) / all.Seconds)
	}
	all.Slowest = cmp.Or(t.Slowest, next.Slowest)
	return &all
}

// String is a sentence for people.
func (t *transfer) String() string {
	var b strings.Builder
	b.WriteString("took " + shortTime(t.Seconds))
	if t.BytesMoved > 0 {
		fmt.Fprintf(&b, ", %s/s", progress.Bytes(t.BytesPerSecond))
	}
	var sides []string
	if n := t.Requests.Source; n > 0 {
		sides = append(sides, number(n, "request", "requests")+" at the source")
	}
	if n := t.Requests.Destination; n > 0 {
		sides = append(sides, number(n, "request", "requests")+" at the destination")
	}
	if len(sides) > 0 {
		b.WriteString("; " + strings.Join(sides, ", "))
	}
	if t.Retries > 0 {
		b.WriteString("; " + number(t.Retries, "retry", "retries"))
	}
	if t.Slowest != "" {
		b.WriteString("; slowest: " + t.Slowest)
	}
	return b.String()
}

// shortTime is a time with what matters of its fractions.
func shortTime(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.1fs", seconds)
	}
	return progress.Duration(time.Duration(seconds * float64(time.Second)))
}
