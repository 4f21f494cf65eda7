package copying

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A Transfer is the duration of a copy and how much was transferred. It differs from run to run.
type Transfer struct {
	// Seconds is the time of the copy, planning not included.
	Seconds float64 `json:"seconds"`
	// The byte counts are those of mirror.Progress.
	BytesMoved   int64 `json:"bytesMoved"`
	BytesFound   int64 `json:"bytesFound"`
	BytesMounted int64 `json:"bytesMounted"`
	BytesShared  int64 `json:"bytesShared"`
	// BytesPerSecond is BytesMoved divided by Seconds.
	BytesPerSecond int64 `json:"bytesPerSecond"`
	// Requests and Retries are those of the whole run, planning included.
	Requests struct {
		Source      int64 `json:"source"`
		Destination int64 `json:"destination"`
	} `json:"requests"`
	Retries int64 `json:"retries"`
	// Slowest is the host with the lowest throughput during the copy, or "" if no host was clearly
	// slower than the others.
	Slowest string          `json:"slowest,omitempty"`
	Hosts   []env.HostStats `json:"hosts"`
}

// newTransfer returns the statistics of a copy from its final progress and its duration. before and
// after are the statistics of hosts at its start and end.
func newTransfer(at mirror.Progress, took time.Duration, before, after []env.HostStats) *Transfer {
	t := &Transfer{
		Seconds:    env.Milli(took),
		BytesMoved: at.Copied, BytesFound: at.Found, BytesMounted: at.Mounted, BytesShared: at.Shared,
		Hosts: after,
	}
	if took > 0 {
		t.BytesPerSecond = int64(float64(at.Copied) / took.Seconds())
	}
	for _, h := range after {
		if h.Side == env.SideName(remote.Destination) {
			t.Requests.Destination += h.Requests
		} else {
			t.Requests.Source += h.Requests
		}
		t.Retries += h.Retries
	}
	t.Slowest = slowest(before, after)
	return t
}

// slowest ignores hosts that were busy for less than leastBusy. A host is slow if its rate is at
// most clearly times the next one.
const (
	leastBusy = time.Second
	clearly   = 0.8
)

// slowest returns the host with the fewest bytes per busy second between two readings.
func slowest(before, after []env.HostStats) (host string) {
	least, next := math.Inf(1), math.Inf(1)
	for _, h := range after {
		i := slices.IndexFunc(before, func(b env.HostStats) bool { return b.Side == h.Side && b.Host == h.Host })
		bytes, busy := h.BytesRead+h.BytesWritten, h.Busy
		if i >= 0 {
			bytes -= before[i].BytesRead + before[i].BytesWritten
			busy -= before[i].Busy
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

// then returns the sum of two copies, one after the other. whole is true if the second copy counts
// again what the first one copied. t may be nil.
func (t *Transfer) then(next *Transfer, whole bool) *Transfer {
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
