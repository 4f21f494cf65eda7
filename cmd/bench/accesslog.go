package main

import (
	"bufio"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The kinds of requests that the tables list. Manifests are requested by HEAD or GET. A mount that
// the registry did not grant counts as the start of an upload.
const (
	headBlob     = "HEAD blob"
	getBlob      = "GET blob"
	beginUpload  = "POST upload"
	patchUpload  = "PATCH upload"
	putUpload    = "PUT upload"
	mounted      = "mounted"
	readManifest = "HEAD or GET manifest"
	putManifest  = "PUT manifest"
	otherRequest = "other"
)

// requestKinds returns the kinds of requests in the order of the tables.
func requestKinds() []string {
	return []string{headBlob, getBlob, beginUpload, patchUpload, putUpload, mounted, readManifest, putManifest, otherRequest}
}

// counts are the numbers of requests by kind.
type counts map[string]int

func (c counts) all() int {
	n := 0
	for v := range maps.Values(c) {
		n += v
	}
	return n
}

// logLine matches the beginning of a line in Apache's combined log format:
//
//	127.0.0.1 - - [01/Jan/2025:00:00:00 +0000] "HEAD /v2/a/blobs/sha256:... HTTP/1.1" 200 0 "" "agent"
var logLine = regexp.MustCompile(`^\S+ \S+ .*?\[[^\]]*\] "([A-Z]+) (\S+) HTTP/[0-9.]+" ([0-9]{3}) `)

// countRequests counts the requests in an access log. It ignores other lines.
func countRequests(r io.Reader) (counts, error) {
	c := counts{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		m := logLine.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		u, err := url.ParseRequestURI(m[2])
		if err != nil {
			c[otherRequest]++
			continue
		}
		status, err := strconv.Atoi(m[3])
		if err != nil {
			return nil, err
		}
		c[kindOf(registrytest.Request{Method: m[1], Path: u.Path, Query: u.RawQuery, Status: status})]++
	}
	return c, s.Err()
}

func kindOf(r registrytest.Request) string {
	kind := r.Kind()
	switch kind {
	case "HEAD manifest", "GET manifest":
		return readManifest
	case "POST mount":
		if r.Status == http.StatusCreated {
			return mounted
		}
		return beginUpload
	}
	if slices.Contains(requestKinds(), kind) {
		return kind
	}
	return otherRequest
}
