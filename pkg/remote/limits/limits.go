// Package limits reads how much of the network and of each registry a run may use.
//
// A rate is written with a unit, "50MiB", and means bytes per second. Limits of single registries
// are in a file:
//
//	hosts:
//	- host: quay.io               # a host, "*.example.com", or "*"; a port may follow
//	  streams: 8                  # concurrent requests
//	  requestsPerSecond: 20       # requests started per second, 0.5 for one in two
//	  rate: 50MiB                 # bytes per second, in each direction
//
// The file is read strictly: unknown fields, values out of range and duplicate hosts are errors
// with file and line. Of the entries that match a host, only the longest applies; entries are not
// merged.
package limits

import (
	"net"
	"strings"
)

// Limits are the entries of a file. nil is a file without entries.
type Limits struct {
	Hosts []Host // in the order of the file
}

// A Host is one entry. 0 means no limit.
type Host struct {
	// Pattern is "quay.io", "quay.io:443", "*.example.com" for every name below it, or "*"; in
	// lower case. Without a port, it applies to every port.
	Pattern           string
	Streams           int
	RequestsPerSecond float64
	Rate              Rate
}

// For returns the entry for a host as in references, "quay.io" or "mirror.example.com:5000"; the
// zero Host if there is none. A host's own entry has precedence over one with "*", a longer name
// over a shorter one, and with the same name the one with a port.
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

// rank orders the patterns that match one host; the ranks of different patterns differ.
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

// split splits host[:port].
func split(s string) (name, port string) {
	name, port, err := net.SplitHostPort(s)
	if err != nil {
		return strings.Trim(s, "[]"), ""
	}
	return name, port
}
