package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// anEvent has the fields of all events that the tests check.
type anEvent struct {
	Version             int
	Time                time.Time
	Event               string
	Message, Level      string
	Digest, Repository  string
	Source, Destination string
	Result              json.RawMessage
	Side, Host, Reason  string
	Attempt             int
	Code                *int
	Error               *view.ErrorText
	Phase               string
	Images              json.RawMessage
	Bytes               json.RawMessage
}

// readEvents checks that every line is an event, and returns the events by name.
func readEvents(t *testing.T, stderr string) (names []string, of map[string][]anEvent) {
	t.Helper()
	of = map[string][]anEvent{}
	for line := range strings.Lines(stderr) {
		var e anEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Version != 1 || e.Time.IsZero() || e.Event == "" {
			t.Fatalf("no event: %v\n%s", err, line)
		}
		names, of[e.Event] = append(names, e.Event), append(of[e.Event], e)
	}
	return names, of
}

// TestMirrorWithEvents checks the events of a run with a retry and a failed image, and then of a
// run that copies what was missing.
func TestMirrorWithEvents(t *testing.T) {
	t.Parallel()
	w := newFixture(t, rt.Options{})
	isc := w.path("imageset.yaml")
	w.source.Script(
		rt.Rule{Method: http.MethodGet, Path: "/blobs/sha256", Nth: 2, Action: rt.Status(http.StatusServiceUnavailable)},
		rt.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: rt.WrongBytes()},
	)
	failures := w.path("failures.ndjson")
	o := w.gantry("mirror", "-c", isc, w.docker(""), "--progress", "json", "--retry-delay", "1ms", "--log-level", "debug", "--failures", failures)
	if o.code != exitPartial || !strings.HasPrefix(o.stdout, "Mirrored to") {
		t.Fatalf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	names, of := readEvents(t, o.stderr)
	checkFailedRun(w, of)
	if last := len(names) - 1; names[0] != "start" || names[last-1] != "summary" && !slices.Contains(names, "summary") || names[last] != "end" {
		t.Errorf("begins with %s, ends with %s", names[0], names[last])
	}
	if end := of["end"][0]; end.Code == nil || *end.Code != exitPartial || end.Error == nil || end.Error.Code != exitPartial || end.Error.Message == "" {
		t.Errorf("end: %+v", end)
	}
	var summary struct {
		Report   struct{ Images int }
		Transfer copying.Transfer
	}
	if err := json.Unmarshal(of["summary"][0].Result, &summary); err != nil || summary.Report.Images == 0 || summary.Transfer.BytesMoved == 0 || int(summary.Transfer.Retries) != len(of["retry"]) {
		t.Errorf("summary %+v (%v), %d retry events", summary, err, len(of["retry"]))
	}
	if r := of["retry"]; len(r) == 0 || r[0].Side != "source" || r[0].Host != w.source.Host || r[0].Attempt != 2 {
		t.Errorf("retries %+v", r)
	}

	checkWrongFlags(w, isc)

	// Copy what was missing, with the object on stdout.
	w.source.Script()
	o = w.must("mirror", "-c", isc, w.docker(""), "--progress", "json", "--output", "json", "--failures", failures)
	if written, err := os.ReadFile(failures); err != nil || len(written) > 0 {
		t.Errorf("after a complete run, --failures wrote %v\n%s", err, written)
	}
	var result mirroring.Result
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Transfer == nil || result.Transfer.BytesMoved == 0 {
		t.Errorf("%v\n%s", err, o.stdout)
	}
	readEvents(t, o.stderr)
	// With nothing to copy, the output is short.
	o = w.must("mirror", "-c", isc, w.docker(""))
	if !strings.HasPrefix(o.stdout, "Nothing to copy: all ") || strings.ContainsAny(o.stderr, "\r\x1b") || strings.Contains(o.stderr, "copying") {
		t.Errorf("a run with nothing to do prints\n%s%q", o.stdout, o.stderr)
	}
}

// checkFailedRun checks the events of blobs and images in a run in which some failed.
func checkFailedRun(w *fixture, of map[string][]anEvent) {
	w.t.Helper()
	if len(of["log"]) == 0 || len(of["message"]) == 0 || len(of["progress"]) == 0 {
		w.t.Fatalf("%d log, %d message, %d progress", len(of["log"]), len(of["message"]), len(of["progress"]))
	}
	blobs, images := map[string]int{}, map[string]int{}
	for _, e := range of["blob-ended"] {
		if blobs[string(e.Result)]++; (e.Reason != "") != (string(e.Result) == `"failed"`) {
			w.t.Errorf("%s with reason %q", e.Result, e.Reason)
		}
	}
	for _, e := range of["image"] {
		images[string(e.Result)]++
	}
	failed, held := images[`"failed"`], images[`"held"`]
	if len(of["blob-started"]) == 0 || blobs[`"moved"`] == 0 || blobs[`"failed"`] == 0 || failed == 0 || held == 0 {
		w.t.Errorf("blobs %v, images %v", blobs, images)
	}
	// Images that failed or are withheld are also in the file of --failures and in the last progress.
	if written := w.read("failures.ndjson"); strings.Count(written, `{"kind":"image","source":`) != failed || strings.Count(written, `{"kind":"catalog"`) != held {
		w.t.Errorf("%d images failed and %d catalogs are withheld, and --failures wrote\n%s", failed, held, written)
	}
	w.says(string(of["progress"][len(of["progress"])-1].Images), fmt.Sprintf(`"failed":%d`, failed), fmt.Sprintf(`"held":%d`, held))
}

// checkWrongFlags checks that stderr contains only JSON if flags are wrong.
func checkWrongFlags(w *fixture, isc string) {
	w.t.Helper()
	for _, args := range [][]string{{"--quiet"}, {"--log-level", "loud"}, {"--no-such-flag"}} {
		o := w.gantry(append([]string{"mirror", "--progress", "json", "-c", isc, w.docker("")}, args...)...)
		if _, of := readEvents(w.t, o.stderr); o.code != exitUsage || len(of["end"]) != 1 || *of["end"][0].Code != exitUsage {
			w.t.Errorf("%v: ended with %d\n%s", args, o.code, o.stderr)
		}
	}
}
