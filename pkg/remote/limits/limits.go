// Package limits says how much of the network and of each registry a run may
// take.
//
// A rate is written as people write it, "50MiB", and means bytes per second.
// Limits of single registries stand in a file:
//
//	hosts:
//	- host: quay.io               # a host, "*.example.com", or "*"; a port may follow
//	  streams: 8                  # requests under way at the same time
//	  requestsPerSecond: 20       # requests begun per second, 0.5 for one in two
//	  rate: 50MiB                 # bytes per second, in each direction
//
// The file is read strictly: a field that is not known, a value out of range
// and a host that is listed twice are errors with file and line. Of the entries
// that match a host the longest decides alone; entries are not merged.
package limits

import (
	"net"
	"strings"
)

// Limits are those of a file. nil is a file without entries.
type Limits struct {
	Hosts []Host // in the order of the file
}

// A Host is what one entry says. 0 means that it does not limit this.
type Host struct {
	// Pattern is "quay.io", "quay.io:443", "*.example.com" for every name below
	// it, or "*"; in lower case. Without a port it is for every port.
	Pattern           string
	Streams           int
	RequestsPerSecond float64
	Rate              Rate
}

// For returns the entry for a host as references have it, "quay.io" or
// "mirror.example.com:5000"; the zero Host where there is none. A host's own
// entry goes before one with "*", a longer name before a shorter one, and with
// the same name the one with a port.
func (l *Limits) For(host string) Host {
	var best Host
	if l == nil {
		return best
	}
	for _, h := range l.Hosts {
		if h.matches(host) && (best.Pattern == "" || h.rank() > best.rank()) {
			best = h
		}
	}
	return best
}

func (h Host) matches(host string) bool {
	wantName, wantPort := split(h.Pattern)
	name, port := split(strings.ToLower(host))
	if wantPort != "" && wantPort != port {
		return false
	}
	if tail, wild := strings.CutPrefix(wantName, "*"); wild {
		return strings.HasSuffix(name, tail) && len(name) > len(tail)
	}
	return name == wantName
}

// rank orders the patterns that match one host; no two that differ are equal.
func (h Host) rank() int {
	name, port := split(h.Pattern)
	n := 2 * len(name)
	if port != "" {
		n++
	}
	if !strings.HasPrefix(name, "*") {
		n += 1 << 16
	}
	return n
}

// split divides host[:port].
func split(s string) (name, port string) {
	name, port, err := net.SplitHostPort(s)
	if err != nil {
		return strings.Trim(s, "[]"), ""
	}
	return name, port
}
