package main

import (
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// Every run to a registry also writes what the mirror has of image sets, and who changes it. These functions
// leave that out.
var (
	contentBelow = mirrortest.ContentBelow
	contentLog   = mirrortest.ContentRequests
)

// contentRequests counts the requests for content by their kind.
func contentRequests(s *registrytest.Server) map[string]int {
	count := map[string]int{}
	for _, r := range contentLog(s) {
		count[r.Kind()]++
	}
	return count
}
