package main

import (
	"strings"
	"testing"
)

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
