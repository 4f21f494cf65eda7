package main

import (
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/state"
)

const oneOfZoo = "  operators:\n  - catalog: " + zooRef + "\n    packages: [{name: otter}]\n"

// plannedAs plans a configuration, checks the number of blobs read from the source, and returns the
// plan.
func (w *fixture) plannedAs(blobs int, args ...string) string {
	w.t.Helper()
	w.source.ResetLog()
	w.must(append([]string{"plan", "-o", w.path("plan.json"), "--name", "same"}, args...)...)
	if n := w.source.Requests()["GET blob"]; n != blobs {
		w.t.Errorf("plan %v read %d blobs, want %d", args, n, blobs)
	}
	return w.read("plan.json")
}

// removeLayers removes the blobs from the cache, so that only the parsed catalogs are left.
func (w *fixture) removeLayers() {
	w.t.Helper()
	if err := os.RemoveAll(w.path("workspace/cache/blobs")); err != nil {
		w.t.Fatal(err)
	}
}

// TestSnapshots checks that a catalog is read only once: later runs in the workspace use the cache
// and give the same result.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	one := w.config("one.yaml", oneOfZoo)
	two := w.config("two.yaml", strings.Replace(oneOfZoo, "{name: otter}", "{name: otter}, {name: vole}", 1))
	whole := w.config("whole.yaml", "  operators:\n  - {catalog: "+zooRef+", full: true}\n")
	elsewhere := []string{"--workspace", w.path("elsewhere")}

	w.source.ResetLog()
	w.must("plan", "-c", one, "-o", w.path("first.json"), "--name", "same")
	read := w.source.Requests()["GET blob"]
	if read < 4 {
		t.Fatalf("%d blobs were read, want the configs and layers of two platforms", read)
	}
	first := w.read("first.json")
	if diff := cmp.Diff(first, w.plannedAs(0, "-c", one)); diff != "" {
		t.Errorf("a second plan differs: %s", diff)
	}
	for _, isc := range []string{two, whole} {
		again := w.plannedAs(0, "-c", isc)
		w.must(append([]string{"plan", "-c", isc, "-o", w.path("fresh.json"), "--name", "same"}, elsewhere...)...)
		if diff := cmp.Diff(w.read("fresh.json"), again); diff != "" {
			t.Errorf("%s: the plan differs from the plan of a fresh workspace: %s", isc, diff)
		}
	}
	w.source.ResetLog()
	listed := w.must("catalog", "list", zooRef).stdout
	if n := w.source.Requests()["GET blob"]; n > 0 {
		t.Errorf("catalog list read %d blobs", n)
	}
	if want := w.must("catalog", "list", zooRef, "--workspace", w.path("none")).stdout; listed != want {
		t.Errorf("catalog list (-want +got): %s", cmp.Diff(want, listed))
	}

	// The parsed catalogs are sufficient. Without the layers in the cache, only the two configs of
	// the image are read again.
	w.removeLayers()
	if diff := cmp.Diff(first, w.plannedAs(2, "-c", one)); diff != "" {
		t.Errorf("without layers, the plan differs: %s", diff)
	}
	w.removeLayers()
	w.plannedAs(2, "-c", two)
	if again := w.must("catalog", "list", zooRef).stdout; again != listed {
		t.Errorf("without layers, catalog list differs: %s", cmp.Diff(listed, again))
	}
}

// TestSnapshotsDamaged checks that a damaged parsed catalog is not used, and is replaced.
func TestSnapshotsDamaged(t *testing.T) {
	t.Parallel()
	long(t)
	w := newCatalogFixture(t)
	isc := w.config("one.yaml", oneOfZoo)
	w.must("plan", "-c", isc, "-o", w.path("first.json"), "--name", "same")
	first := w.read("first.json")
	kept := w.tree("workspace/cache/catalogs")
	if len(kept) != 1 {
		t.Fatalf("kept %v", sortedKeys(kept))
	}
	name := "workspace/cache/catalogs/" + sortedKeys(kept)[0]
	whole := kept[sortedKeys(kept)[0]]
	for what, damaged := range map[string]string{
		"empty": "", "cut": whole[:len(whole)/2], "flipped": whole[:len(whole)/3] + "\x00\x01\x02" + whole[len(whole)/3+3:], "foreign": strings.Repeat("x", len(whole)),
	} {
		t.Run(what, func(t *testing.T) {
			w := *w
			w.t = t
			w.write(name, damaged)
			if diff := cmp.Diff(first, w.plannedAs(0, "-c", isc)); diff != "" {
				t.Errorf("the plan differs: %s", diff)
			}
			if w.read(name) != whole {
				t.Error("it was not replaced")
			}
			w.must("catalog", "validate", zooRef)
		})
	}

	// Removing a folder of the cache has no effect on the result.
	for _, dir := range []string{"workspace/cache/catalogs", "workspace/cache"} {
		if err := os.RemoveAll(w.path(dir)); err != nil {
			t.Fatal(err)
		}
		w.must("plan", "-c", isc, "-o", w.path("plan.json"), "--name", "same")
		if diff := cmp.Diff(first, w.read("plan.json")); diff != "" {
			t.Errorf("without %s the plan differs: %s", dir, diff)
		}
		if again := w.tree("workspace/cache/catalogs"); !maps.Equal(kept, again) {
			t.Errorf("without %s, %v is kept", dir, sortedKeys(again))
		}
	}
	w.must("mirror", "-c", isc, w.docker("/after"))
	w.verify("after", zoo, 2)
}

// TestSnapshotsWithWrongBytes checks that a catalog with wrong bytes, or one that is truncated or
// missing, is not cached.
func TestSnapshotsWithWrongBytes(t *testing.T) {
	t.Parallel()
	long(t)
	w := newCatalogFixture(t)
	isc := w.config("one.yaml", oneOfZoo)
	w.must("plan", "-c", isc, "-o", w.path("plan.json"), "--name", "same", "--workspace", w.path("calm"))
	calm := w.read("plan.json")
	for _, lie := range []registrytest.Action{registrytest.WrongBytes(), registrytest.Cut(100), registrytest.Status(http.StatusNotFound)} {
		w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/" + zoo + "/blobs/", Action: lie})
		for _, args := range [][]string{{"plan", "-c", isc}, {"catalog", "list", zooRef}, {"catalog", "render", zooRef}} {
			o := w.gantry(append(args, "--retry-delay", "1ms", "--retry-times", "1")...)
			if o.code != exitError || !strings.Contains(o.stderr, zooRef) {
				t.Errorf("gantry %v ended with %d:\n%s", args, o.code, o.stderr)
			}
		}
		if _, err := os.Stat(w.path("workspace/cache/catalogs")); !os.IsNotExist(err) {
			t.Errorf("kept %v", w.tree("workspace/cache/catalogs"))
		}
	}
	w.source.Script()
	w.must("plan", "-c", isc, "-o", w.path("plan.json"), "--name", "same")
	if diff := cmp.Diff(calm, w.read("plan.json")); diff != "" {
		t.Errorf("after the faults, the plan differs: %s", diff)
	}
}

// TestReadersRunBesideOtherRuns checks that a catalog can be inspected while another run locks the
// workspace, and that the workspace's cache is used.
func TestReadersRunBesideOtherRuns(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	w.must("plan", "-c", w.config("one.yaml", oneOfZoo))
	lock, err := state.Open(w.path("workspace"))
	if err != nil {
		t.Fatal(err)
	}
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
	if diff := cmp.Diff(before, w.tree("workspace/plans")); diff != "" {
		t.Errorf("the plans of the workspace changed: %s", diff)
	}
}
