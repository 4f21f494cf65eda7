package mirror_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A fault is the misbehavior of one registry in one run.
type fault struct {
	name     string
	atSource bool
	rules    []rt.Rule
	// failed are the repositories whose images have to fail; the reasons contain words. If failed
	// is empty, the run succeeds.
	failed, words []string
	// wait is the minimum of the longest wait.
	wait time.Duration
	// stalls means that the client has to detect in real time that no data arrives.
	stalls bool
	check  func(t *testing.T, r *faultRun) // if any, runs after the first copy
}

// A target is the kind of request that a fault affects.
type target struct {
	name                string
	method, path, query string
	all                 string // a path that also matches every request that could replace it
	failed, words       []string
}

func (g target) once(a rt.Action) []rt.Rule {
	return []rt.Rule{{Method: g.method, Path: g.path, Query: g.query, Nth: 1, Action: a}}
}

func (g target) always(a rt.Action) []rt.Rule {
	return []rt.Rule{{Method: g.method, Path: g.all, Query: g.query, Action: a}}
}

// temporary returns faults that a retry of the request overcomes.
func (g target) temporary() []fault {
	date := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		at := time.Now().Add(2 * time.Minute).UTC().Format(http.TimeFormat)
		rt.Status(http.StatusTooManyRequests, "Retry-After", at)(w, r, next)
	}
	return []fault{
		{name: "429 with seconds", rules: g.once(rt.Status(http.StatusTooManyRequests, "Retry-After", "17")), wait: 17 * time.Second},
		{name: "429 with a date", rules: g.once(date), wait: time.Minute},
		{name: "429 without a time", rules: g.once(rt.Status(http.StatusTooManyRequests))},
		{name: "503 once", rules: g.once(rt.Status(http.StatusServiceUnavailable))},
		{name: "reset", rules: g.once(rt.Reset())},
		{name: "no answer", rules: g.once(rt.NoResponse()), stalls: true},
	}
}

// permanent returns faults that make the images of the target fail.
func (g target) permanent() []fault {
	return []fault{
		{name: "503 forever", rules: g.always(rt.Status(http.StatusServiceUnavailable)), failed: g.failed, words: []string{"503"}},
		{name: "reset forever", rules: g.always(rt.Reset()), failed: g.failed, words: []string{"the connection broke"}},
	}
}

func (g target) named(faults []fault) []fault {
	for i := range faults {
		faults[i].name = g.name + ": " + faults[i].name
		faults[i].atSource = g.method == http.MethodGet
		if len(faults[i].failed) > 0 {
			faults[i].words = append(slices.Clone(g.words), faults[i].words...)
		}
	}
	return faults
}

var otherDigest = digest.FromString("something else").String()

// sourceFaults returns the faults of requests that read.
func sourceFaults(large digest.Digest) []fault {
	blob := target{
		name: "GET blob", method: http.MethodGet, path: "/org/large/blobs/" + large.String(), all: "/blobs/" + large.String(),
		failed: []string{"org/large", "org/twin"}, words: []string{large.String()},
	}
	manifest := target{name: "GET manifest", method: http.MethodGet, path: "/org/multi/manifests/", all: "/org/multi/manifests/", failed: []string{"org/multi"}}
	var all []fault
	for _, g := range []target{blob, manifest} {
		all = append(all, g.named(slices.Concat(g.temporary(), g.permanent(), []fault{
			{name: "cut", rules: g.once(rt.Cut(300))},
			{name: "stall", rules: g.once(rt.Stall(300)), stalls: true},
			{name: "short body", rules: g.always(rt.ShortBody(300)), failed: g.failed},
			{name: "wrong bytes once", rules: g.once(rt.WrongBytes())},
			{name: "wrong bytes", rules: g.always(rt.WrongBytes()), failed: g.failed, words: []string{"digest"}},
			{name: "web page", rules: g.always(rt.Page()), failed: g.failed},
		}))...)
	}
	all = append(all, blob.named([]fault{
		{name: "cut late", rules: blob.once(rt.Cut(largeSize - 1000)), check: continuedDownload},
		{name: "stall late", rules: blob.once(rt.Stall(largeSize - 1000)), stalls: true, check: continuedDownload},
		{name: "only at one of its sources", rules: blob.once(rt.Status(http.StatusNotFound))},
	})...)
	return append(all, manifest.named([]fault{
		{name: "wrong Docker-Content-Digest", rules: manifest.always(rt.Header("Docker-Content-Digest", otherDigest)), failed: manifest.failed, words: []string{otherDigest}},
	})...)
}

// continuedDownload checks that the client read the rest of the large layer by Range.
func continuedDownload(t *testing.T, r *faultRun) {
	t.Helper()
	var sent int64
	for _, q := range r.source.Log() {
		if q.Kind() == "GET blob" && q.Digest() == r.content.large {
			sent += q.Sent
		}
	}
	if sent < largeSize || sent > largeSize+largeSize/2 {
		t.Errorf("%d bytes were read for a blob of about %d", sent, largeSize)
	}
}

// destinationFaults returns the faults of requests that write.
func destinationFaults(large digest.Digest) []fault {
	post := target{name: "POST upload", method: http.MethodPost, path: "/org/large/blobs/uploads/", all: "/org/large/blobs/uploads/", failed: []string{"org/large"}}
	put := target{
		name: "PUT blob", method: http.MethodPut, path: "/blobs/uploads/", query: large.Encoded(), all: "/org/(large|twin)/blobs/uploads/",
		failed: []string{"org/large"}, words: []string{large.String()},
	}
	mount := target{name: "mount", method: http.MethodPost, path: "/org/(large|twin)/blobs/uploads/", query: "mount="}
	child := target{name: "PUT child", method: http.MethodPut, path: "/org/multi/manifests/sha256:", all: "/org/multi/manifests/sha256:", failed: []string{"org/multi"}}
	tag := target{name: "PUT tag", method: http.MethodPut, path: "/org/multi/manifests/v1", all: "/org/multi/manifests/v1", failed: []string{"org/multi"}}
	var all []fault
	for _, g := range []target{post, put, child, tag} {
		list := append(slices.Concat(g.temporary(), g.permanent()), fault{name: "answer lost", rules: g.once(rt.LoseResponse())})
		if g.name != post.name {
			list = append(list,
				fault{name: "wrong Docker-Content-Digest", rules: g.always(rt.Header("Docker-Content-Digest", otherDigest)), failed: g.failed, words: []string{otherDigest}},
				fault{name: "201 and then absent", rules: g.once(rt.Pretend())})
		}
		all = append(all, g.named(list)...)
	}
	all = append(all, put.named([]fault{
		{name: "cut", rules: put.once(rt.CutUpload(largeSize / 2))},
		{name: "stall", rules: put.once(rt.StallUpload(largeSize / 2)), stalls: true},
	})...)
	// If a registry requires an empty PUT, blobs are sent with PATCH.
	patch := target{name: "PATCH", method: http.MethodPatch, path: "/blobs/uploads/"}
	requireEmptyPut := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.ContentLength != 0 {
			rt.Status(http.StatusBadRequest)(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
	for _, f := range []fault{
		{name: "cut", rules: patch.once(rt.CutUpload(largeSize / 2))},
		{name: "503 once", rules: patch.once(rt.Status(http.StatusServiceUnavailable))},
		{name: "answer lost", rules: patch.once(rt.LoseResponse())},
	} {
		f.rules = append(f.rules, put.always(requireEmptyPut)...)
		f.check = func(t *testing.T, r *faultRun) {
			t.Helper()
			if r.dest.Requests()["PATCH upload"] == 0 {
				t.Error("no request was a PATCH")
			}
		}
		all = append(all, patch.named([]fault{f})...)
	}
	all = append(all, mount.named([]fault{
		{name: "201 and then absent", rules: mount.once(rt.Pretend())},
		{name: "refused", rules: mount.once(rt.Status(http.StatusForbidden))},
	})...)
	for _, g := range []target{child, tag} {
		all = append(all, g.named([]fault{{name: "MANIFEST_BLOB_UNKNOWN once", rules: g.once(rt.Refuse(http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN"))}})...)
	}
	return all
}

// TestFaults checks every fault with every source and destination where it can occur, followed by a
// second run without the fault. Only what the fault affects fails, no wrong content is stored, and
// the second run copies the rest without repeating anything.
func TestFaults(t *testing.T) {
	t.Parallel()
	content := newFaultContent(t)
	disk := content.writeArchive(t)
	for direction, faults := range map[string][]fault{
		registryToRegistry: append(sourceFaults(content.large), destinationFaults(content.large)...),
		registryToArchive:  sourceFaults(content.large),
		archiveToRegistry:  destinationFaults(content.large),
	} {
		t.Run(direction, func(t *testing.T) {
			t.Parallel()
			for _, f := range faults {
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					f.run(t, newFaultRun(t, content, direction, disk))
				})
			}
		})
	}
}

func (f fault) run(t *testing.T, r *faultRun) {
	at := r.dest
	if f.atSource {
		at = r.source
	}
	r.forget()
	at.Script(f.rules...)
	clock, idle := &skipClock{}, 30*time.Second
	if f.stalls {
		idle, r.repeats = time.Second, true
	}
	report, err := r.copy(clock, idle)
	at.Script()
	fail.On(t, err)
	if !slices.ContainsFunc(at.Log(), func(q rt.Request) bool { return q.Faulted }) {
		t.Error("the fault did not happen")
	}
	var reasons strings.Builder
	failed := map[string]bool{}
	for _, failure := range report.Failed {
		failed[failure.Repository] = true
		reasons.WriteString(failure.Reason + "\n")
	}
	if len(f.failed) == 0 && len(failed) > 0 {
		t.Errorf("images failed:\n%s", &reasons)
	}
	for _, repository := range f.failed {
		if !failed[repository] {
			t.Errorf("%s did not fail", repository)
		}
	}
	for _, word := range f.words {
		if !strings.Contains(reasons.String(), word) {
			t.Errorf("no reason names %q:\n%s", word, &reasons)
		}
	}
	if clock.longest < f.wait {
		t.Errorf("the longest wait was %s, want at least %s", clock.longest, f.wait)
	}
	if f.check != nil {
		f.check(t, r)
	}
	first := r.completed()

	r.forget()
	report, err = r.copy(&skipClock{}, 30*time.Second)
	if err != nil || len(report.Failed) > 0 {
		t.Fatalf("without the fault: %v, %+v", err, report)
	}
	for name := range r.completed() {
		if first[name] {
			t.Errorf("the second run copied %s again", name)
		}
	}
	r.checkComplete()
}

// forget clears the logs of both registries.
func (r *faultRun) forget() {
	r.source.ResetLog()
	r.dest.ResetLog()
}
