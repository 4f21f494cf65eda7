package main

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

const oneOfZoo = "  operators:\n  - catalog: " + zooRef + "\n    packages: [{name: otter}]\n"

// TestReadersRunBesideOtherRuns checks that a catalog can be inspected while another run locks the
// workspace, and that the workspace's cache is used.
func TestReadersRunBesideOtherRuns(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	w.must("plan", "-c", w.config("one.yaml", oneOfZoo))
	lock, err := state.Open(w.path("workspace"))
	fail.On(t, err)
	defer func() {
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}()
	w.refuse(exitLocked, nil, "plan", "-c", w.path("one.yaml"))
	before := w.tree("workspace/plans")
	w.source.ResetLog()
	w.must("catalog", "list", zooRef)
	w.must("graph", zooRef, "otter", "-c", w.path("one.yaml"))
	w.must("check", "-c", w.path("heads.yaml"), "--dependencies", "--installed", w.path("csv.json"))
	for _, r := range w.source.Log() {
		if r.Kind() == "GET blob" && !strings.Contains(r.Path, "/"+river+"/") { // the other catalog was never read
			t.Errorf("%s was read again", r.Path)
		}
	}
	fail.Diff(t, before, w.tree("workspace/plans"))
}
