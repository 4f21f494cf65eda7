package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan"
)

// TestEvents has one of every event: names and members that programs rely on.
func TestEvents(t *testing.T) {
	const some = digest.Digest("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	var b bytes.Buffer
	e := &events{w: &b, now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC) }}
	e.plan(&plan.Plan{
		Name: "site", Images: make([]plan.Image, 3), Missing: make([]plan.Missing, 1),
		Totals: plan.Totals{Manifests: 5, Blobs: 7, Bytes: 900},
	})
	place, err := reference.Parse("mirror.example.com:5000/x/acme/app")
	if err != nil {
		t.Fatal(err)
	}
	c := &copyEvents{events: e, target: &registryTarget{names: map[string]reference.Reference{"acme/app": place}}}
	c.BlobStarted(mirror.Flight{Digest: some, Repository: "acme/app", Size: 100})
	c.BlobEnded(mirror.Landing{Digest: some, Repository: "acme/app", Size: 100, Result: mirror.BlobMoved})
	c.BlobEnded(mirror.Landing{Digest: some, Repository: "acme/app", Size: 100, Result: mirror.BlobFailed, Reason: "gone"})
	c.ImageSettled(mirror.Outcome{Source: "quay.io/acme/app:v1", Repository: "acme/app", Tags: []string{"v1", "v2"}, Result: mirror.ImageCopied})
	c.ImageSettled(mirror.Outcome{Source: "quay.io/acme/app@" + some.String(), Repository: "acme/app", Digest: some, Result: mirror.ImagePresent})
	c.ImageSettled(mirror.Outcome{Source: "quay.io/acme/lost:v1", Result: mirror.ImageFailed, Reason: "not found"})
	e.retry(remote.Destination)(remote.Again{
		Host: "mirror.example.com:5000", Attempt: 2, Wait: 1500 * time.Millisecond,
		Err: &remote.Error{Op: "writing blob", Err: errors.New("reset")},
	})
	v := &eventView{events: e, retries: func() int64 { return 0 }}
	v.Draw(progress.Frame{Reading: progress.Reading{What: "planning", Images: 4, ImagesDone: 1}, PerSecond: 0.5, Left: 6 * time.Second})
	v.Clear() // nothing is copied: there are no figures at the end
	v.meter = &mirror.Meter{}
	v.Clear()
	e.end(exitOK, nil)
	e.end(exitUsage, errorTextOf(exitUsage, usageHint("do this", "that <is> wrong")))
	golden(t, "events.golden", b.String())
}

// golden compares with a file in testdata, which is written anew where the
// scripts are.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if os.Getenv(updateScripts) != "" {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// anEvent is what the tests look at of all events.
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
	Error               *errorText
	Phase               string
	Images              json.RawMessage
	Bytes               json.RawMessage
}

// readEvents wants every line to be an event, and returns them by name.
func readEvents(t *testing.T, stderr string) (names []string, of map[string][]anEvent) {
	t.Helper()
	of = map[string][]anEvent{}
	for line := range strings.Lines(stderr) {
		var e anEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Version != eventVersion || e.Time.IsZero() || e.Event == "" {
			t.Fatalf("no event: %v\n%s", err, line)
		}
		names, of[e.Event] = append(names, e.Event), append(of[e.Event], e)
	}
	return names, of
}

// TestMirrorWithEvents mirrors through a retry and an image that fails, and then
// what is left.
func TestMirrorWithEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rt.Options{})
	isc := w.path("imageset.yaml")
	w.source.Script(
		rt.Rule{Method: http.MethodGet, Path: "/blobs/sha256", Nth: 2, Action: rt.Status(http.StatusServiceUnavailable)},
		rt.Rule{Method: http.MethodGet, Path: "/lantern/store/blobs/", Action: rt.WrongBytes()},
	)
	o := w.gantry("mirror", "-c", isc, w.docker(""), "--progress", "json", "--retry-delay", "1ms", "--log-level", "debug")
	if o.code != exitPartial || !strings.HasPrefix(o.stdout, "Mirrored to") {
		t.Fatalf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	names, of := readEvents(t, o.stderr)
	if last := len(names) - 1; names[0] != "start" || names[last-1] != "summary" && !slices.Contains(names, "summary") || names[last] != "end" {
		t.Errorf("begins with %s, ends with %s", names[0], names[last])
	}
	if end := of["end"][0]; end.Code == nil || *end.Code != exitPartial || end.Error == nil || end.Error.Code != exitPartial || end.Error.Message == "" {
		t.Errorf("end: %+v", end)
	}
	started, ended := map[string]bool{}, map[string]int{}
	for _, e := range of["blob-started"] {
		started[e.Digest+e.Repository] = true
	}
	for _, e := range of["blob-ended"] {
		result := string(e.Result)
		ended[result]++
		if result == `"moved"` && !started[e.Digest+e.Repository] {
			t.Errorf("moved without a start: %s in %s", e.Digest, e.Repository)
		}
		if (e.Reason != "") != (result == `"failed"`) {
			t.Errorf("%s with reason %q", result, e.Reason)
		}
	}
	if ended[`"moved"`] == 0 || ended[`"failed"`] == 0 {
		t.Errorf("blobs: %v", ended)
	}
	var failed, images int
	for _, e := range of["image"] {
		if images++; string(e.Result) == `"failed"` {
			failed++
			if !strings.Contains(e.Source, "lantern/store") || e.Reason == "" {
				t.Errorf("failed: %+v", e)
			}
		}
	}
	held := 0
	for _, e := range of["image"] {
		if string(e.Result) == `"held"` {
			held++
		}
	}
	var last struct{ Failed, Held int }
	if err := json.Unmarshal(of["progress"][len(of["progress"])-1].Images, &last); err != nil {
		t.Fatal(err)
	}
	if failed == 0 || held == 0 || last.Failed != failed || last.Held != held {
		t.Errorf("%d images failed and %d are held, and the last progress says %+v", failed, held, last)
	}
	var summary struct {
		Report   struct{ Images int }
		Transfer transfer
	}
	if err := json.Unmarshal(of["summary"][0].Result, &summary); err != nil || summary.Report.Images == 0 || images < summary.Report.Images {
		t.Errorf("%d image events, summary %+v (%v)", images, summary, err)
	}
	if tr := summary.Transfer; tr.BytesMoved == 0 || tr.Requests.Source == 0 || tr.Requests.Destination == 0 || tr.Retries == 0 || int(tr.Retries) != len(of["retry"]) {
		t.Errorf("transfer %+v, %d retry events", tr, len(of["retry"]))
	}
	if len(of["retry"]) > 0 && (of["retry"][0].Side != "source" || of["retry"][0].Host != w.source.Host || of["retry"][0].Attempt != 2) {
		t.Errorf("retry %+v", of["retry"][0])
	}
	if len(of["log"]) == 0 || len(of["message"]) == 0 || len(of["progress"]) == 0 {
		t.Errorf("%d log, %d message, %d progress", len(of["log"]), len(of["message"]), len(of["progress"]))
	}

	// Nothing else is on stderr where the flags are wrong.
	for _, args := range [][]string{{"--quiet"}, {"--log-level", "loud"}, {"--no-such-flag"}} {
		o := w.gantry(append([]string{"mirror", "--progress", "json", "-c", isc, w.docker("")}, args...)...)
		if _, of := readEvents(t, o.stderr); o.code != exitUsage || len(of["end"]) != 1 || *of["end"][0].Code != exitUsage {
			t.Errorf("%v: ended with %d\n%s", args, o.code, o.stderr)
		}
	}

	// What is left, with the object on stdout.
	w.source.Script()
	o = w.must("mirror", "-c", isc, w.docker(""), "--progress", "json", "--output", "json")
	var result mirrorResult
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Transfer == nil || result.Transfer.BytesMoved == 0 {
		t.Errorf("%v\n%s", err, o.stdout)
	}
	readEvents(t, o.stderr)
	// And nothing, which is one line for people.
	o = w.must("mirror", "-c", isc, w.docker(""))
	if first, _, _ := strings.Cut(o.stdout, "\n"); !strings.HasPrefix(first, "Nothing to copy: all ") || strings.Contains(o.stdout, "Copied") {
		t.Errorf("a run with nothing to do says\n%s", o.stdout)
	}
	if strings.ContainsAny(o.stderr, "\r\x1b") || strings.Contains(o.stderr, "copying") {
		t.Errorf("a short run off a terminal says\n%q", o.stderr)
	}
}

func TestLoggerOfEvents(t *testing.T) {
	var b bytes.Buffer
	newEvents(&b).logger("log", slog.LevelWarn).Warn("odd", "ref", "a/b")
	_, of := readEvents(t, b.String())
	if e := of["log"][0]; e.Message != "odd" || e.Level != "WARN" || !strings.Contains(b.String(), `"attributes":{"ref":"a/b"}`) {
		t.Errorf("%s", b.String())
	}
}
