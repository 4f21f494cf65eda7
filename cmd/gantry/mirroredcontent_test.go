package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// Every run to a registry also writes what the mirror has of image sets, and who changes it. These functions
// leave that out.

// isContent reports whether a repository of a mirror has content, and no records and no lease.
func isContent(repository string) bool {
	for _, own := range []string{"image-sets", "lease", "shards"} {
		if strings.HasSuffix(repository, "gantry-"+own) || repository == "gantry/"+own { // the latter without a prefix
			return false
		}
	}
	return true
}

// contentBelow lists the content that a registry stores below a prefix.
func contentBelow(t *testing.T, s *registrytest.Server, prefix string) []registrytest.Repository {
	t.Helper()
	list, err := s.Repositories(prefix)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(r registrytest.Repository) bool { return !isContent(r.Name) })
}

// contentLog returns the requests for content.
func contentLog(s *registrytest.Server) []registrytest.Request {
	return slices.DeleteFunc(s.Log(), func(r registrytest.Request) bool { return !isContent(r.Repository()) })
}

// contentRequests counts the requests for content by their kind.
func contentRequests(s *registrytest.Server) map[string]int {
	count := map[string]int{}
	for _, r := range contentLog(s) {
		count[r.Kind()]++
	}
	return count
}
