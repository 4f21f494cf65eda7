package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// TestDeltaPreview plans an archive that may have deltas, without a request for a blob.
func TestDeltaPreview(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	plan := func(args ...string) *airgap.PlannedDeltas {
		t.Helper()
		o := w.must(append([]string{"plan", "-c", w.isc, fileScheme + w.path("next"), "--workspace", w.path("outside"), "-o", "json"}, args...)...)
		var result struct{ Deltas *airgap.PlannedDeltas }
		if err := json.Unmarshal([]byte(o.stdout), &result); err != nil {
			t.Fatal(err)
		}
		return result.Deltas
	}
	if d := plan(); d != nil {
		t.Errorf("for the first archive: %+v", d)
	}
	w.written("disk1")
	w.publish(2)
	w.source.ResetLog()
	d := plan()
	if d == nil || d.Blobs != 1 || d.Bytes < 1e6 || !d.SiteUnknown {
		t.Errorf("%+v", d)
	}
	dry := []string{"mirror", "-c", w.isc, fileScheme + w.path("next"), "--workspace", w.path("outside"), "--dry-run"}
	w.says(w.must(dry...).stdout, "Deltas   1.3 MiB", "(1 blob to copy, whole; writing the archive compares them")
	for _, args := range [][]string{{"--delta", "off"}, {"--full"}} {
		if o := w.must(append(dry, args...)...); strings.Contains(o.stdout, "Deltas") {
			t.Errorf("with %v:\n%s", args, o.stdout)
		}
	}
	for _, r := range w.source.Log() {
		if r.Method == http.MethodGet && strings.Contains(r.Path, "/blobs/"+w.layerOfTag()) {
			t.Errorf("%s %s", r.Method, r.Path)
		}
	}
	if r := w.written("next"); r.Deltas == nil || r.Deltas.Blobs != d.Blobs || r.Deltas.BlobBytes != d.Bytes {
		t.Errorf("%+v was planned, and %+v written", d, r.Deltas)
	}
}

// layerOfTag is layer of the image that the source has.
func (w *deltaFixture) layerOfTag() string { return w.layer("stable") }

// TestDeltaOutput checks what the commands that look into an archive print about deltas.
func TestDeltaOutput(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.publish(2)
	o := w.must("mirror", "-c", w.isc, fileScheme+w.path("disk2"), "--workspace", w.path("outside"))
	w.says(o.stdout, "1 blob of 1.3 MiB is carried as a delta of ", "The site needs a Gantry that reads deltas")
	if strings.Contains(o.stderr, "/s;") {
		t.Errorf("a rate that includes the time for deltas:\n%s", o.stderr)
	}
	one, two := fileScheme+w.path("disk1"), fileScheme+w.path("disk2")
	for _, tc := range []struct {
		code int
		args []string
		want string
	}{
		{exitOK, []string{"verify", two}, "whose folder was not named: 1 blob or manifest (202.5 KiB) of its images and 1 blob (1.3 MiB) that deltas are based on are there"},
		{exitOK, []string{"verify", two, one}, "is intact: 1 images"},
		{exitOK, []string{"verify", two, "-o", "json"}, `"bases":1`},
		{exitOK, []string{"archive", "inspect", two}, "carries 1 blob (1.3 MiB) as deltas ("},
		{exitOK, []string{"archive", "list", two}, "earlier"},
		{exitOK, []string{"archive", "list", two, one}, "yes"},
		{exitOK, []string{"archive", "list", "--blobs", two}, "delta of " + w.layerOfTag()},
		{exitSomething, []string{"archive", "diff", one, two}, "Changed: 1 image"},
	} {
		o := w.looked(tc.code, tc.args...)
		if !strings.Contains(o.stdout, tc.want) {
			t.Errorf("%v does not print %q:\n%s", tc.args, tc.want, o.stdout)
		}
	}
}
