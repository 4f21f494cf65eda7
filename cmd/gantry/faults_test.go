package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A mishap is what one registry does in one run.
type mishap struct {
	name     string
	atSource bool
	rules    []rt.Rule
	// code is how the run ends, and stderr then says these words.
	code  int
	words []string
	// wait is what the longest wait has to come to, at least.
	wait time.Duration
	// impatient runs give a registry that says nothing little time.
	impatient bool
	// restart: the registry has to be waited for, in real time.
	restart bool
	// open: the program cannot know of an upload that stays open.
	open bool
	// less: the run writes an archive of what could be planned, so that the next
	// one is another in the sequence.
	less bool
	// check looks at more than what holds for every fault.
	check func(t *testing.T, s *storm, name string)
}

// A spot is a request at which faults happen.
type spot struct {
	what                string
	method, path, query string
	// all is the path at which everything that could stand in for it fails too.
	all   string
	words []string // what stderr says of what cannot be brought without it
}

func (p spot) once(a rt.Action) []rt.Rule {
	return []rt.Rule{{Method: p.method, Path: p.path, Query: p.query, Nth: 1, Action: a}}
}

func (p spot) always(a rt.Action) []rt.Rule {
	return []rt.Rule{{Method: p.method, Path: p.all, Query: p.query, Action: a}}
}

var other = digest.FromString("something else")

// passing are the faults that pass, as any request meets them.
func passing(p spot) []mishap {
	return []mishap{
		{name: "429 with seconds", rules: p.once(rt.Status(http.StatusTooManyRequests, "Retry-After", "17")), wait: 17 * time.Second},
		{name: "429 with a date", rules: p.once(retryAt(2 * time.Minute)), wait: time.Minute},
		{name: "429 with nothing", rules: p.once(rt.Status(http.StatusTooManyRequests))},
		{name: "503 once", rules: p.once(rt.Status(http.StatusServiceUnavailable))},
		{name: "reset", rules: p.once(rt.Reset())},
		{name: "no answer", rules: p.once(rt.NoAnswer()), impatient: true},
		{name: "token expired", rules: p.once(rt.Deny())},
	}
}

// few are some of them, for requests that are made in the same way as others.
func few(p spot) []mishap {
	return slices.DeleteFunc(passing(p), func(m mishap) bool { return m.name != "503 once" && m.name != "reset" })
}

// retryAt asks to come again at a time.
func retryAt(d time.Duration) rt.Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		at := time.Now().Add(d).UTC().Format(http.TimeFormat)
		rt.Status(http.StatusTooManyRequests, "Retry-After", at)(w, r, next)
	}
}

// faultsAtSource are those of requests that read.
func faultsAtSource(s *storm) []mishap {
	blob := spot{
		what: "GET blob", method: http.MethodGet, path: "/org/large/blobs/" + s.large.String(), all: "/blobs/" + s.large.String(),
		words: []string{"not mirrored: " + s.source.Host + "/org/large:v1", "not mirrored: " + s.source.Host + "/org/twin:v1", s.large.String()},
	}
	manifest := spot{
		what: "GET manifest", method: http.MethodGet, path: "/org/multi/manifests/", all: "/org/multi/manifests/",
		words: []string{"not mirrored: " + s.source.Host + "/org/multi:v1"},
	}
	var all []mishap
	for _, p := range []spot{blob, manifest} {
		list := passing(p)
		if p.what == manifest.what && s.way == toArchive {
			list = few(p) // planning is the same for both
		}
		list = append(list,
			mishap{name: "503 forever", rules: p.always(rt.Status(http.StatusServiceUnavailable)), code: exitPartial, words: []string{"503"}},
			mishap{name: "reset forever", rules: p.always(rt.Reset()), code: exitPartial, words: []string{"the connection broke"}},
			mishap{name: "cut", rules: p.once(rt.Cut(300))},
			mishap{name: "stall", rules: p.once(rt.Stall(300)), impatient: true},
			mishap{name: "short body", rules: p.always(rt.ShortBody(300)), code: exitPartial},
			mishap{name: "wrong bytes", rules: p.always(rt.WrongBytes()), code: exitPartial, words: []string{"digest"}},
			mishap{name: "a page for people", rules: p.always(rt.Page()), code: exitPartial},
		)
		for i := range list {
			list[i].less = p.what == manifest.what && list[i].code == exitPartial
		}
		all = append(all, p.named(list)...)
	}
	all = append(all, blob.named([]mishap{
		{name: "cut late", rules: blob.once(rt.Cut(largeSize - 1000)), check: wentOn},
		{name: "stall late", rules: blob.once(rt.Stall(largeSize - 1000)), impatient: true, check: wentOn},
		{name: "only at one of its sources", rules: blob.once(rt.Status(http.StatusNotFound))},
		{name: "restart", rules: blob.once(s.source.RestartAfter(largeSize / 2)), restart: true},
		redirected(blob, s.source.CDN()),
	})...)
	return append(all, manifest.named([]mishap{
		{name: "wrong Docker-Content-Digest", rules: manifest.always(rt.Header("Docker-Content-Digest", other.String())), code: exitPartial, less: true, words: []string{other.String()}},
	})...)
}

// redirected sends the reader of a blob to storage that refuses who shows
// credentials.
func redirected(p spot, cdn *rt.Server) mishap {
	return mishap{name: "redirect to another host", rules: p.always(rt.Redirect(cdn)), check: func(t *testing.T, _ *storm, _ string) {
		t.Helper()
		if len(cdn.Log()) == 0 {
			t.Error("the other host was not asked")
		}
		for _, r := range cdn.Log() {
			if r.Authorized || r.Status != http.StatusOK {
				t.Errorf("the other host was shown credentials, or not asked as it wants: %+v", r)
			}
		}
	}}
}

// wentOn wants that what had come of the large blob was not read again.
func wentOn(t *testing.T, s *storm, _ string) {
	t.Helper()
	var sent int64
	for _, r := range s.source.Log() {
		if r.Kind() == "GET blob" && r.Digest() == s.large {
			sent += r.Sent
		}
	}
	if sent < largeSize || sent > largeSize+largeSize/2 {
		t.Errorf("%d bytes were read for a blob of some %d", sent, largeSize)
	}
}

// faultsAtMirror are those of requests that write.
func faultsAtMirror(s *storm) []mishap {
	lost := []string{"not mirrored: " + s.source.Host + "/org/large:v1"}
	post := spot{what: "POST upload", method: http.MethodPost, path: "/org/large/blobs/uploads/", all: "/org/large/blobs/uploads/", words: lost}
	put := spot{
		what: "PUT blob", method: http.MethodPut, path: "/blobs/uploads/", query: s.large.Encoded(), all: "/org/(large|twin)/blobs/uploads/",
		words: append(lost, s.large.String()),
	}
	mount := spot{what: "mount", method: http.MethodPost, path: "/org/(large|twin)/blobs/uploads/", query: "mount="}
	child := spot{
		what: "PUT child", method: http.MethodPut, path: "/org/multi/manifests/sha256:", all: "/org/multi/manifests/sha256:",
		words: []string{"not mirrored: " + s.source.Host + "/org/multi:v1"},
	}
	tag := child
	tag.what, tag.path, tag.all = "PUT tag", "/org/multi/manifests/v1", "/org/multi/manifests/v1"

	var all []mishap
	for _, p := range []spot{post, put, child, tag} {
		list := few(p)
		if p.what == put.what || p.what == tag.what && s.way == toRegistry {
			list = passing(p)
		}
		list = append(list,
			mishap{name: "503 forever", rules: p.always(rt.Status(http.StatusServiceUnavailable)), code: exitPartial, words: []string{"503"}},
			mishap{name: "reset forever", rules: p.always(rt.Reset()), code: exitPartial, words: []string{"the connection broke"}},
			mishap{name: "answer lost", rules: p.once(rt.LoseAnswer()), open: p.what == post.what},
		)
		if p.what != post.what {
			list = append(list,
				mishap{name: "wrong Docker-Content-Digest", rules: p.always(rt.Header("Docker-Content-Digest", other.String())), code: exitPartial, words: []string{other.String()}},
				mishap{name: "201 and then absent", rules: p.once(rt.Pretend()), open: p.what == put.what})
		}
		all = append(all, p.named(list)...)
	}
	all = append(all, put.named([]mishap{
		{name: "cut", rules: put.once(rt.CutUpload(largeSize / 2))},
		{name: "stall", rules: put.once(rt.StallUpload(largeSize / 2)), impatient: true},
		{name: "restart", rules: put.once(s.mirror.RestartAfter(largeSize / 2)), restart: true, open: true},
	})...)
	// Whoever wants the PUT to be bare gets the blob by PATCH.
	part := spot{what: "PATCH", method: http.MethodPatch, path: "/blobs/uploads/"}
	bare := put.always(wantBare)
	for _, f := range []mishap{
		{name: "cut", rules: part.once(rt.CutUpload(largeSize / 2))},
		{name: "503 once", rules: part.once(rt.Status(http.StatusServiceUnavailable))},
		{name: "answer lost", rules: part.once(rt.LoseAnswer())},
		{name: "token expired", rules: part.once(rt.Deny())},
		{name: "restart", rules: part.once(s.mirror.RestartAfter(largeSize / 2)), restart: true, open: true},
	} {
		f.rules = append(f.rules, bare...)
		f.check = patched
		all = append(all, part.named([]mishap{f})...)
	}
	all = append(all, mount.named([]mishap{
		{name: "201 and then absent", rules: mount.once(rt.Pretend())},
		{name: "refused", rules: mount.once(rt.Status(http.StatusForbidden))},
	})...)
	unknown := rt.Refuse(http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN")
	for _, p := range []spot{child, tag} {
		all = append(all, p.named([]mishap{{name: "MANIFEST_BLOB_UNKNOWN once", rules: p.once(unknown)}})...)
	}
	return all
}

// wantBare refuses what comes with the PUT that completes an upload, as some
// registries do.
func wantBare(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.ContentLength != 0 {
		rt.Status(http.StatusBadRequest)(w, r, next)
		return
	}
	next.ServeHTTP(w, r)
}

// patched wants that the large blob came by PATCH.
func patched(t *testing.T, s *storm, _ string) {
	t.Helper()
	if n := s.mirror.Requests()["PATCH upload"]; n == 0 {
		t.Error("nothing came by PATCH")
	}
}

// named gives faults the names of the place, and what is said of a failure there.
func (p spot) named(faults []mishap) []mishap {
	for i := range faults {
		faults[i].name = p.what + ": " + faults[i].name
		faults[i].atSource = p.method == http.MethodGet
		if faults[i].code == exitPartial {
			faults[i].words = append(slices.Clone(p.words), faults[i].words...)
		}
	}
	return faults
}

// TestThroughFaults lets every fault happen on every way where it can, and holds
// what has to hold afterwards.
func TestThroughFaults(t *testing.T) {
	t.Parallel()
	for _, s := range newStorms(t, toRegistry, toArchive, fromArchive) {
		t.Run(s.way, func(t *testing.T) {
			t.Parallel()
			var faults []mishap
			if s.way != fromArchive {
				faults = faultsAtSource(s)
			}
			if s.way != toArchive {
				faults = append(faults, faultsAtMirror(s)...)
			}
			for i, f := range faults {
				t.Run(f.name, func(t *testing.T) { s.through(t, fmt.Sprintf("f%d", i), f) })
			}
		})
	}
}

// through runs into one fault, and then once more without it.
func (s *storm) through(t *testing.T, name string, f mishap) {
	began := s.world
	defer func() { s.world = began }()
	s.world = &world{t: t, dir: began.dir, source: began.source, mirror: began.mirror, env: began.env}
	at := s.mirror
	if f.atSource {
		at = s.source
	}
	s.forget()
	at.Script(f.rules...)
	clock, idle := &leapClock{}, 30*time.Second
	if f.restart {
		clock.real = 50 * time.Millisecond
	}
	if f.impatient {
		idle = 400 * time.Millisecond
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
			t.Errorf("stderr does not say %q:\n%s", word, o.stderr)
		}
	}
	if clock.longest < f.wait {
		t.Errorf("waited for %s, want %s", clock.longest, f.wait)
	}
	if left != "" {
		t.Errorf("goroutines are left:\n%s", left)
	}
	if f.check != nil {
		f.check(t, s, name)
	}
	d := &disturbance{storm: s, name: name, open: f.open, less: f.less}
	d.afterFault(t)

	s.forget()
	o, left = s.run(name, &leapClock{}, 30*time.Second)
	if o.code != exitOK || left != "" {
		t.Errorf("without the fault: ended with %d:\n%s%s%s", o.code, o.stdout, o.stderr, left)
	}
	if f.code == exitOK && s.way != toArchive && !strings.HasPrefix(o.stdout, "Nothing to copy") {
		t.Errorf("something was left to do after a run that said 0:\n%s", o.stdout)
	}
	d.afterAnother(t)
}

// forget begins the logs of the registries anew.
func (s *storm) forget() {
	s.source.ResetLog()
	s.mirror.ResetLog()
}
