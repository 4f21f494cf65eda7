package remote

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Stats counts what a Client did, for the summary of a run.
type Stats struct {
	// Requests counts by method and kind: "GET manifest", "HEAD manifest",
	// "GET blob", "HEAD blob", "POST upload", "PATCH upload", "PUT upload",
	// "DELETE upload", "PUT manifest", "GET tags", "GET ping", "GET token",
	// "POST token". Redirects are counted with what they belong to.
	Requests map[string]int64
	Retries  int64
	Mounts   int64 // blobs that a registry took from another repository
	// Bytes of bodies that were received and sent, including those of attempts
	// that failed.
	BytesRead, BytesWritten int64
}

type counters struct {
	mu          sync.Mutex
	requests    map[string]int64
	retries     atomic.Int64
	mounts      atomic.Int64
	read, wrote atomic.Int64
}

func (c *counters) request(method, kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[string]int64{}
	}
	c.requests[method+" "+kind]++
}

func (c *counters) retried() { c.retries.Add(1) }

// Stats returns the counts so far.
func (c *Client) Stats() Stats {
	s := &c.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Requests: maps.Clone(s.requests), Retries: s.retries.Load(), Mounts: s.mounts.Load(),
		BytesRead: s.read.Load(), BytesWritten: s.wrote.Load(),
	}
}
