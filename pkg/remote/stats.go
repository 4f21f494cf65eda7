package remote

import (
	"cmp"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Stats are the numbers of what a Client did.
type Stats struct {
	// Requests counts requests by method and kind: "GET manifest", "HEAD manifest", "GET blob",
	// "HEAD blob", "POST upload", "PATCH upload", "PUT upload", "DELETE upload", "PUT manifest",
	// "GET tags", "GET ping", "GET token", "POST token", "GET web". Redirects are not counted
	// separately.
	Requests map[string]int64
	Retries  int64
	Mounts   int64 // blobs that a registry mounted from another repository
	// Bytes of bodies that were received and sent, including failed attempts.
	BytesRead, BytesWritten int64
	// Hosts are the numbers per host, sorted by name. What a registry redirects to (a CDN, a token
	// server) is counted with the registry.
	Hosts []HostStats
}

// HostStats are the numbers of one registry.
type HostStats struct {
	Name                    string // as in references: "docker.io", "mirror.example.com:5000"
	Requests, Retries       int64
	BytesRead, BytesWritten int64
	// Busy is the time with at least one request in progress, without waits for a retry or a free
	// stream. Bytes divided by it are the host's throughput per second.
	Busy time.Duration
	// Latency is the mean time from the last byte of a request to the first of its response; 0
	// without responses.
	Latency time.Duration
}

type counters struct {
	mu       sync.Mutex
	requests map[string]int64
	mounts   atomic.Int64
}

func (c *counters) request(method, kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[string]int64{}
	}
	c.requests[method+" "+kind]++
}

// hostCounters are the counters of one host.
type hostCounters struct {
	requests, retries atomic.Int64
	read, wrote       atomic.Int64
	answers           atomic.Int64
	waited            atomic.Int64 // for all responses, in nanoseconds

	mu    sync.Mutex
	under int       // exchanges in progress
	since time.Time // when the current busy time began
	busy  time.Duration
}

// moved returns how many bytes of bodies were received and sent.
func (c *hostCounters) moved() int64 { return c.read.Load() + c.wrote.Load() }

// begin and end surround one exchange.
func (c *hostCounters) begin(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under++; c.under == 1 {
		c.since = now
	}
}

func (c *hostCounters) end(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under--; c.under == 0 {
		c.busy += now.Sub(c.since)
	}
}

func (c *hostCounters) answered(after time.Duration) {
	c.answers.Add(1)
	c.waited.Add(int64(after))
}

func (c *hostCounters) busyUntil(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under > 0 {
		return c.busy + now.Sub(c.since)
	}
	return c.busy
}

// Stats returns the counts so far.
func (c *Client) Stats() Stats {
	now := c.o.Clock.Now()
	s := Stats{Mounts: c.stats.mounts.Load()}
	c.stats.mu.Lock()
	s.Requests = maps.Clone(c.stats.requests)
	c.stats.mu.Unlock()

	// registries.conf can list one host as two; to the user, it is one.
	hosts := map[string]*HostStats{}
	answers := map[string]int64{}
	c.mu.Lock()
	for _, h := range c.hosts {
		one := hosts[h.name]
		if one == nil {
			one = &HostStats{Name: h.name}
			hosts[h.name] = one
		}
		one.Requests += h.stats.requests.Load()
		one.Retries += h.stats.retries.Load()
		one.BytesRead += h.stats.read.Load()
		one.BytesWritten += h.stats.wrote.Load()
		one.Busy += h.stats.busyUntil(now)
		one.Latency += time.Duration(h.stats.waited.Load())
		answers[h.name] += h.stats.answers.Load()
	}
	c.mu.Unlock()
	for name, one := range hosts {
		if n := answers[name]; n > 0 {
			one.Latency /= time.Duration(n)
		}
		s.Retries += one.Retries
		s.BytesRead += one.BytesRead
		s.BytesWritten += one.BytesWritten
		s.Hosts = append(s.Hosts, *one)
	}
	elements.Sort(s.Hosts, func(a, b HostStats) int { return cmp.Compare(a.Name, b.Name) })
	return s
}
