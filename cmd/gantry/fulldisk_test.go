package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// filler fills the disk of a folder with a file, and returns what removes it.
func (w *fixture) filler(dir string) (fill, free func()) {
	name := filepath.Join(dir, "filler")
	fill = func() {
		f, err := os.Create(name)
		if err != nil {
			w.t.Error(err)
			return
		}
		for _, size := range []int{64 << 10, 512} {
			for err = nil; err == nil; {
				_, err = f.Write(make([]byte, size))
			}
		}
		_ = f.Close() // the disk is full
	}
	return fill, func() {
		if err := os.Remove(name); err != nil {
			w.t.Error(err)
		}
	}
}

// TestWorkspaceFullAfterCopy checks a run whose workspace is full when everything was copied and its state is saved.
// The mirror is complete and has the record, and the next run has nothing to copy.
func TestWorkspaceFullAfterCopy(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.fullWorkspace(`/gantry-image-sets/manifests/imageset\.t1\.`)
}

// TestWorkspaceFullDuringCopy is the same for a workspace that is full before the first push, with its cache on another
// disk.
func TestWorkspaceFullDuringCopy(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	w.fullWorkspace(`/gantry-image-sets/manifests/sha256-[0-9a-f]*\.pending`, "--cache-dir", w.path("cache"))
}

// fullWorkspace runs gantry mirror with a workspace whose disk is full from the first push of a manifest on whose path
// matches.
func (w *fixture) fullWorkspace(path string, args ...string) {
	w.t.Helper()
	workspace := filepath.Join(w.medium("disk", 32), "workspace")
	fill, free := w.filler(filepath.Dir(workspace))
	args = append([]string{"mirror", "-c", w.operators("lantern"), w.docker("/site"), "--workspace", workspace}, args...)
	w.mirror.Script(registrytest.Rule{Method: http.MethodPut, Path: path, Action: once(fill)})
	w.refuse(exitNoSpace, []string{"space"}, args...)
	w.mirror.Script()
	w.verify("site", acme, 1)
	w.must("verify", w.docker("/site"), "--workspace", w.path("elsewhere"))
	free()
	if o := w.must(args...); !strings.Contains(o.stdout, "Nothing to copy") {
		w.t.Errorf("the next run copied:\n%s", o.stdout)
	}
	w.must("verify", w.docker("/site"), "--workspace", workspace)
	w.must("status", "--workspace", workspace)
}

// TestAuditLogFull checks a prune whose workspace is full when the first content was deleted, so that the audit log
// cannot be written. What is wanted stays, the run fails, and the next one does the rest.
func TestAuditLogFull(t *testing.T) {
	t.Parallel()
	w := prunable(t, registrytest.Options{})
	workspace := filepath.Join(w.medium("disk", 32), "workspace")
	w.must("mirror", "-c", w.path("imageset.yaml"), w.docker("/site"), "--workspace", workspace)
	fill, free := w.filler(filepath.Dir(workspace))
	w.mirror.Script(registrytest.Rule{Method: http.MethodDelete, Path: "/tidewater/", Action: once(fill)})
	w.refuse(exitNoSpace, []string{"audit", "space"}, "prune", "--yes", w.docker("/site"), "--workspace", workspace)
	w.verify("site", acme, 1)
	w.mirror.Script()
	w.must("verify", "-c", w.path("imageset.yaml"), w.docker("/site"))
	before := storedManifests(t, w.mirror, "site")
	w.refuse(exitNoSpace, []string{"space"}, "prune", "--yes", w.docker("/site"), "--workspace", workspace)
	if gone := without(before, storedManifests(t, w.mirror, "site")); len(gone) > 0 {
		t.Errorf("a run without an audit log deleted %v", gone)
	}
	free()
	w.must("prune", "--yes", w.docker("/site"), "--workspace", workspace)
	if r := w.pruned(exitOK); !r.Plan.Empty() {
		t.Errorf("%+v", r.Plan)
	}
	w.must("verify", w.docker("/site"), "--workspace", workspace)
}
