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

// Kinds of requests that a table tells apart. Manifests are asked for by HEAD
// or GET; a mount that was not granted is an upload that was begun.
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

// requestKinds in the order of a table.
func requestKinds() []string {
	return []string{headBlob, getBlob, beginUpload, patchUpload, putUpload, mounted, readManifest, putManifest, otherRequest}
}

// Counts are requests by their kind.
type counts map[string]int

func (c counts) all() int {
	n := 0
	for v := range maps.Values(c) {
		n += v
	}
	return n
}

// A logLine is as Apache's combined format begins:
//
//	127.0.0.1 - - [01/Jan/2025:00:00:00 +0000] "HEAD /v2/a/blobs/sha256:... HTTP/1.1" 200 0 "" "agent"
var logLine = regexp.MustCompile(`^\S+ \S+ .*?\[[^\]]*\] "([A-Z]+) (\S+) HTTP/[0-9.]+" ([0-9]{3}) `)

// countRequests reads an access log. Other lines in it are passed over.
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
