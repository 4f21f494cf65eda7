package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A copyFault describes how one registry misbehaves in one run, and what the run must do.
type copyFault struct {
	name     string
	atSource bool
	rules    []rt.Rule
	// code is the exit status of the run. stderr then contains these words.
	code  int
	words []string
	// impatient runs wait only briefly for a registry that does not respond.
	impatient bool
	// restart: the run must wait for the registry in real time.
	restart bool
	// open: the program cannot know of an upload that stays open.
	open bool
	// less: the run writes an archive of the images that could be planned, so that the next run
	// writes another sequence.
	less bool
	// check, if any, runs after the first copy.
	check func(t *testing.T, s *faultFixture)
}

// A faultTarget is the kind of request that a fault affects.
type faultTarget struct {
	method, path, query string
}

func (p faultTarget) once(a rt.Action) []rt.Rule {
	return []rt.Rule{{Method: p.method, Path: p.path, Query: p.query, Nth: 1, Action: a}}
}

func (p faultTarget) always(a rt.Action) []rt.Rule {
	return []rt.Rule{{Method: p.method, Path: p.path, Query: p.query, Action: a}}
}

// faults returns the faults of a direction. Package mirror tests every fault of every request, and
// pkg/remote tests tokens and uploads. These faults need the complete program: exit status and
// messages, tokens, restarts and open uploads of a real registry.
func (s *faultFixture) faults() []copyFault {
	var (
		large    = s.large.String()
		getBlob  = faultTarget{method: http.MethodGet, path: "/org/large/blobs/" + large}
		getBlobs = faultTarget{method: http.MethodGet, path: "/blobs/" + large}
		manifest = faultTarget{method: http.MethodGet, path: "/org/multi/manifests/"}
		put      = faultTarget{method: http.MethodPut, path: "/blobs/uploads/", query: s.large.Encoded()}
		patch    = faultTarget{method: http.MethodPatch, path: "/blobs/uploads/"}
		tag      = faultTarget{method: http.MethodPut, path: "/org/multi/manifests/v1"}
		noLarge  = []string{"not mirrored: " + s.source.Host + "/org/large:v1", "not mirrored: " + s.source.Host + "/org/twin:v1", large}
		noMulti  = []string{"not mirrored: " + s.source.Host + "/org/multi:v1"}
	)
	cut := copyFault{name: "GET blob: cut late", atSource: true, rules: getBlob.once(rt.Cut(largeSize - 1000)), check: checkContinued}
	switch s.direction {
	case toArchive:
		return []copyFault{
			cut,
			{name: "GET blob: wrong bytes", atSource: true, rules: getBlobs.always(rt.WrongBytes()), code: exitPartial, words: append(noLarge, "digest")},
			{name: "GET manifest: 503 forever", atSource: true, rules: manifest.always(rt.Status(http.StatusServiceUnavailable)), code: exitPartial, words: append(noMulti, "503"), less: true},
		}
	case fromArchive:
		return []copyFault{
			{name: "PUT blob: cut", rules: put.once(rt.CutUpload(largeSize / 2))},
			{name: "PUT tag: reset forever", rules: tag.always(rt.Reset()), code: exitPartial, words: append(noMulti, "the connection broke")},
			{name: "PATCH: restart", rules: append(patch.once(s.mirror.RestartAfter(largeSize/2)), put.always(requireEmptyPut)...), restart: true, open: true, check: checkPatched},
		}
	}
	return []copyFault{
		cut,
		{name: "GET blob: token expired", atSource: true, rules: getBlob.once(rt.Deny())},
		{name: "GET blob: restart", atSource: true, rules: getBlob.once(s.source.RestartAfter(largeSize / 2)), restart: true},
		s.redirected(getBlobs),
		{name: "PUT blob: token expired", rules: put.once(rt.Deny())},
		{name: "PUT blob: stall", rules: put.once(rt.StallUpload(largeSize / 2)), impatient: true},
		{name: "PUT blob: restart", rules: put.once(s.mirror.RestartAfter(largeSize / 2)), restart: true, open: true},
		{name: "PUT blob: 201 and then absent", rules: put.once(rt.Pretend()), open: true},
	}
}

// redirected redirects the download of a blob to storage that refuses requests with credentials.
func (s *faultFixture) redirected(p faultTarget) copyFault {
	cdn := s.source.CDN()
	return copyFault{name: "GET blob: redirect to another host", atSource: true, rules: p.always(rt.Redirect(cdn)), check: func(t *testing.T, _ *faultFixture) {
		t.Helper()
		if len(cdn.Log()) == 0 {
			t.Error("the other host got no request")
		}
		for _, r := range cdn.Log() {
			if r.Authorized || r.Status != http.StatusOK {
				t.Errorf("the other host got credentials, or a wrong request: %+v", r)
			}
		}
	}}
}

// checkContinued checks that the program read the rest of the large blob by Range.
func checkContinued(t *testing.T, s *faultFixture) {
	t.Helper()
	var sent int64
	for _, r := range s.source.Log() {
		if r.Kind() == "GET blob" && r.Digest() == s.large {
			sent += r.Sent
		}
	}
	if sent < largeSize || sent > largeSize+largeSize/2 {
		t.Errorf("%d bytes were read for a blob of about %d", sent, largeSize)
	}
}

// requireEmptyPut refuses a body in the PUT that completes an upload, as some registries
// do.
func requireEmptyPut(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.ContentLength != 0 {
		rt.Status(http.StatusBadRequest)(w, r, next)
		return
	}
	next.ServeHTTP(w, r)
}

// checkPatched checks that the mirror got a PATCH.
func checkPatched(t *testing.T, s *faultFixture) {
	t.Helper()
	if n := s.mirror.Requests()["PATCH upload"]; n == 0 {
		t.Error("no request was a PATCH")
	}
}

// TestFaults runs the program with faults in every direction, each followed by a run without
// faults, and checks the results of both.
func TestFaults(t *testing.T) {
	t.Parallel()
	long(t)
	for _, s := range newFaultFixtures(t, toRegistry, toArchive, fromArchive) {
		t.Run(s.direction, func(t *testing.T) {
			t.Parallel()
			for i, f := range s.faults() {
				t.Run(f.name, func(t *testing.T) { s.through(t, fmt.Sprintf("f%d", i), f) })
			}
		})
	}
}

// through runs the program with one fault, and then once more without it.
func (s *faultFixture) through(t *testing.T, name string, f copyFault) {
	began := s.fixture
	defer func() { s.fixture = began }()
	s.fixture = &fixture{t: t, dir: began.dir, source: began.source, mirror: began.mirror, env: began.env}
	at := s.mirror
	if f.atSource {
		at = s.source
	}
	s.forget()
	at.Script(f.rules...)
	clock, idle := &skipClock{}, 30*time.Second
	if f.restart {
		clock.real = 50 * time.Millisecond
	}
	if f.impatient {
		idle = 2 * time.Second // long enough for registries on a busy machine
	}
	o, left := s.run(name, clock, idle)
	at.Script()

	if !slices.ContainsFunc(at.Log(), func(r rt.Request) bool { return r.Faulted }) {
		t.Error("the fault did not happen")
	}
	if o.code != f.code {
		t.Errorf("ended with %d, want %d:\n%s%s", o.code, f.code, o.stdout, o.stderr)
	}
	for _, word := range f.words {
		if !strings.Contains(o.stderr, word) {
			t.Errorf("stderr does not contain %q:\n%s", word, o.stderr)
		}
	}
	if left != "" {
		t.Errorf("goroutines are left:\n%s", left)
	}
	if f.check != nil {
		f.check(t, s)
	}
	d := &faultCheck{faultFixture: s, name: name, open: f.open, less: f.less}
	d.afterFault(t)

	s.forget()
	o, left = s.run(name, &skipClock{}, 30*time.Second)
	if o.code != exitOK || left != "" {
		t.Errorf("without the fault: ended with %d:\n%s%s%s", o.code, o.stdout, o.stderr, left)
	}
	if f.code == exitOK && s.direction != toArchive && !strings.HasPrefix(o.stdout, "Nothing to copy") {
		t.Errorf("the run ended with 0 and did not copy everything:\n%s", o.stdout)
	}
	d.afterAnother(t)
}

// forget clears the logs of the registries.
func (s *faultFixture) forget() {
	s.source.ResetLog()
	s.mirror.ResetLog()
}
