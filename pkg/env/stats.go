package env

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// HostStats are the requests to one registry in the whole run.
type HostStats struct {
	Side           string  `json:"side"` // "source" or "destination"
	Host           string  `json:"host"`
	Requests       int64   `json:"requests"`
	Retries        int64   `json:"retries"`
	BytesRead      int64   `json:"bytesRead"`
	BytesWritten   int64   `json:"bytesWritten"`
	BusySeconds    float64 `json:"busySeconds"`
	LatencySeconds float64 `json:"latencySeconds"`

	Busy time.Duration
}

// Hosts returns the statistics so far, sources first, sorted by name.
func (e *Env) Hosts() []HostStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := []HostStats{}
	for _, c := range e.clients {
		for _, h := range c.Stats().Hosts {
			list = append(list, HostStats{
				Side: SideName(c.side), Host: h.Name, Requests: h.Requests, Retries: h.Retries,
				BytesRead: h.BytesRead, BytesWritten: h.BytesWritten,
				BusySeconds: Milli(h.Busy), LatencySeconds: Milli(h.Latency), Busy: h.Busy,
			})
		}
	}
	elements.Sort(list, func(a, b HostStats) int {
		return cmp.Or(-strings.Compare(a.Side, b.Side), strings.Compare(a.Host, b.Host))
	})
	return list
}

// Retries returns how many requests were repeated.
func Retries(all []HostStats) (n int64) {
	for _, h := range all {
		n += h.Retries
	}
	return n
}

// SideName returns "source" or "destination".
func SideName(side remote.Side) string {
	if side == remote.Destination {
		return "destination"
	}
	return "source"
}

// Milli returns a duration in seconds, rounded to milliseconds.
func Milli(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
