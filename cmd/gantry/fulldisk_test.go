package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// once returns an action that calls do before the first request. All requests are answered as
// usual.
func once(do func()) registrytest.Action {
	var first sync.Once
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		first.Do(do)
		next.ServeHTTP(w, r)
	}
}

// medium mounts a file system of the given size in MiB, which a test may fill or remove. It skips
// the test if mounting is not possible.
func (w *fixture) medium(name string, size int) string {
	w.t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		w.t.Skip("mounting needs Linux and root")
	}
	dir := w.path(name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if out, err := exec.CommandContext(w.t.Context(), "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", size), "tmpfs", dir).CombinedOutput(); err != nil {
		w.t.Skipf("mounting: %v: %s", err, out)
	}
	w.t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			w.t.Errorf("unmounting: %v: %s", err, out)
		}
	})
	return dir
}

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
