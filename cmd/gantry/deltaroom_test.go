package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestDeltaNoRoom fills the disk with temporary files while deltas are made, and while they are read. The errors name the
// folder, and with more room, the same commands succeed.
func TestDeltaNoRoom(t *testing.T) {
	t.Parallel()
	w := newDeltaFixture(t)
	here, there := filepath.Join(w.medium("here", 24), "workspace"), filepath.Join(w.medium("there", 24), "workspace")
	first := w.publish(1)
	write := func(disk string) []string {
		return []string{"mirror", "-c", w.isc, fileScheme + w.path(disk), "--workspace", here}
	}
	read := append(w.from("disk2"), "--workspace", there)
	w.must(write("disk1")...)
	w.must(append(w.from("disk1"), "--workspace", there)...)
	second := w.publish(2)

	fill, free := w.filler(filepath.Dir(here))
	w.source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + w.layer(second), Action: once(fill)})
	w.refuse(exitNoSpace, []string{here + "/cache/deltas has no space", "free some space, or set --delta off"}, write("disk2")...)
	w.source.Script()
	free()
	w.must(write("disk2")...)

	fill, free = w.filler(filepath.Dir(there))
	w.mirror.Script(registrytest.Rule{Method: http.MethodGet, Path: "/blobs/" + w.layer(first), Nth: 2, Action: once(fill)}) // the first finds out whether it can be read
	w.refuse(exitNoSpace, []string{"not enough space in " + there + "/cache/deltas: 1.3 MiB are still to be written, 0 B are free", "free 1.3 MiB more"}, read...)
	w.mirror.Script()
	free()
	w.must(read...)
	w.has(second)
}

// TestDeltaTemporaryFolder reads deltas with commands that have no workspace where TMPDIR cannot be used. What needs no
// deltas works.
func TestDeltaTemporaryFolder(t *testing.T) {
	t.Parallel()
	long(t)
	w := newDeltaFixture(t)
	w.publish(1)
	w.written("disk1")
	w.publish(2)
	w.written("disk2")
	folders := []string{fileScheme + w.path("disk2"), fileScheme + w.path("disk1")}
	for name, dir := range map[string]string{"missing": w.path("missing"), "file": w.write("file", "")} {
		run := func(args ...string) (string, int) {
			cmd := w.process(t.Context(), args...)
			cmd.Env = append(cmd.Env, "TMPDIR="+dir)
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
		for _, args := range [][]string{{"archive", "extract", "--to", w.path("to-" + name)}, {"serve", "--listen", "127.0.0.1:0"}} {
			out, code := run(append(args, folders...)...)
			if code != exitError || !strings.Contains(out, "set TMPDIR to a folder that can be written to") || !strings.Contains(out, dir) {
				t.Errorf("%s: %v ended with %d\n%s", name, args, code, out)
			}
		}
		for _, args := range [][]string{
			{"archive", "extract", "--to", w.path("first-" + name), fileScheme + w.path("disk1")},
			{"verify", folders[0]},
			append(w.from("disk2", "disk1"), "--workspace", w.path("inside-"+name)),
			{"mirror", "-c", w.isc, fileScheme + w.path("next"), "--since", "1", "--workspace", w.path("outside")},
		} {
			if out, code := run(args...); code != exitOK {
				t.Errorf("%s: %v ended with %d\n%s", name, args, code, out)
			}
		}
	}
}
