package remote

import (
	"net/http"
	"time"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// noteTime keeps how far the host's clock is from this one, by the Date of a response.
func (h *host) noteTime(now time.Time, resp *http.Response) {
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		h.clock.Store(&clockReading{ahead: date.Sub(now)})
	}
}

// A clockReading is how far the clock of a host is ahead of this one.
type clockReading struct{ ahead time.Duration }

// ServerTime returns what time it is for the registry of a repository, to about a second, as its last
// response said. If it has not responded or says no time, it is the time of this machine.
func (c *Client) ServerTime(repo reference.Reference) time.Time {
	now := c.o.Clock.Now()
	at, err := c.destination(repo)
	if err != nil {
		return now
	}
	if r := at.h.clock.Load(); r != nil {
		return now.Add(r.ahead)
	}
	return now
}
