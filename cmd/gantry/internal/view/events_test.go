package view

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// TestEvents checks one event of each kind: programs rely on their names and fields.
func TestEvents(t *testing.T) {
	const some = digest.Digest("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	var b bytes.Buffer
	e := &Events{w: &b, now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC) }}
	e.Plan(&plan.Plan{
		Name: "site", Images: make([]plan.Image, 3), Missing: make([]plan.Missing, 1),
		Totals: plan.Totals{Manifests: 5, Blobs: 7, Bytes: 900},
	})
	place, err := reference.Parse("mirror.example.com:5000/x/acme/app")
	fail.On(t, err)
	c := e.Copy(func(r mirror.ImageResult) string {
		switch {
		case r.Repository == "":
			return ""
		case len(r.Tags) == 0:
			return place.WithDigest(r.Digest).String()
		}
		return place.WithTag(r.Tags[0]).String()
	}, strings.ToLower)
	c.BlobStarted(mirror.Transfer{Digest: some, Repository: "acme/app", Size: 100})
	c.BlobFinished(mirror.BlobResult{Digest: some, Repository: "acme/app", Size: 100, Result: mirror.BlobCopied})
	c.BlobFinished(mirror.BlobResult{Digest: some, Repository: "acme/app", Size: 100, Result: mirror.BlobFailed, Reason: "GONE"})
	c.ImageFinished(mirror.ImageResult{Source: "quay.io/acme/app:v1", Repository: "acme/app", Tags: []string{"v1", "v2"}, Result: mirror.ImageCopied})
	c.ImageFinished(mirror.ImageResult{Source: "quay.io/acme/app@" + some.String(), Repository: "acme/app", Digest: some, Result: mirror.ImagePresent})
	c.ImageFinished(mirror.ImageResult{Source: "quay.io/acme/lost:v1", Result: mirror.ImageFailed, Reason: "not found"})
	e.Retry(Retry{Side: "destination", Host: "mirror.example.com:5000", Op: "writing blob", Attempt: 2, Wait: 1500 * time.Millisecond, Reason: "reset"})
	v := e.Progress(nil, nil)
	v.Draw(progress.Frame{Reading: progress.Reading{What: "planning", Images: 4, ImagesDone: 1}, PerSecond: 0.5, Left: 6 * time.Second})
	v.Clear() // nothing was copied, so there is no summary
	v = e.Progress(&mirror.Meter{}, func() int64 { return 0 })
	v.Draw(progress.Frame{Reading: progress.Reading{What: "looking"}, Left: 6 * time.Second})
	v.Clear()
	e.End(0, nil)
	e.End(10, &ErrorText{Code: 10, Hint: "do this", Message: "that <is> wrong"})
	want, err := os.ReadFile("testdata/events.golden")
	fail.On(t, err)
	if got := b.String(); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLoggerOfEvents(t *testing.T) {
	var b bytes.Buffer
	NewEvents(&b).Logger("log", slog.LevelWarn).Warn("odd", "ref", "a/b")
	var e struct{ Event, Level, Message string }
	if err := json.Unmarshal(b.Bytes(), &e); err != nil || e.Event != "log" || e.Message != "odd" || e.Level != "WARN" {
		t.Errorf("%+v, %v", e, err)
	}
	if !strings.Contains(b.String(), `"attributes":{"ref":"a/b"}`) {
		t.Error(b.String())
	}
}
