//go:build unix

package archive

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// killedIn is set in a process that adds parity files to the archive in this folder, and hangs in the middle.
const killedIn = "GANTRY_TEST_PARITY_KILLED_IN"

// TestParityHangs is the process that TestParityKilled kills.
func TestParityHangs(t *testing.T) {
	dir := os.Getenv(killedIn)
	if dir == "" {
		t.Skip("it runs in a process of TestParityKilled")
	}
	a := mustInspect(t, dir)
	err := AddParity(t.Context(), dir, a.Selected().SetRef, Options{Redundancy: 40, WatchParity: func(_ int64, done func() int64) func() {
		return func() { // everything was written, and no file has its name
			if err := os.WriteFile(filepath.Join(dir, "reached"), nil, 0o600); err != nil || done() == 0 {
				os.Exit(1)
			}
			select {}
		}
	}})
	t.Errorf("it ended: %v", err)
}

// TestParityKilled kills a process that wrote parity files before they get their names. None has its name then, and a
// second run writes what an undisturbed one writes.
func TestParityKilled(t *testing.T) {
	t.Parallel()
	dir, want := redundant(t, 40, Options{})
	for name := range want {
		if strings.HasSuffix(name, paritySuffix) {
			fail.On(t, os.Remove(filepath.Join(dir, name)))
		}
	}
	before := names(t, dir)
	program, err := os.Executable()
	fail.On(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestParityHangs$", "-test.timeout", "1m")
	cmd.Env = append(os.Environ(), killedIn+"="+dir)
	fail.On(t, cmd.Start())
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) { //nolint:forbidigo // a test waits for a process
		if _, err := os.Stat(filepath.Join(dir, "reached")); err == nil {
			break
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatal("the process does not write parity files")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	fail.On(t, os.Remove(filepath.Join(dir, "reached")))
	left := slices.DeleteFunc(names(t, dir), func(name string) bool { return slices.Contains(before, name) })
	if len(left) == 0 || slices.ContainsFunc(left, func(name string) bool { return !strings.HasPrefix(name, ".") }) {
		t.Errorf("after the kill, the folder also has %q", left)
	}
	hourAgo := time.Now().Add(-2 * time.Hour)
	for _, name := range left {
		fail.On(t, os.Chtimes(filepath.Join(dir, name), hourAgo, hourAgo))
	}
	a := mustInspect(t, dir)
	fail.On(t, AddParity(t.Context(), dir, a.Selected().SetRef, Options{Redundancy: 40}))
	fail.Diff(t, want, folder(t, dir))
}
