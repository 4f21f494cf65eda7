package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func unsupported(*os.File) error { return errors.ErrUnsupported }

// folder opens a new folder and returns the path of its lock.
func folder(t *testing.T) (root *os.Root, path string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	fail.On(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root, filepath.Join(dir, "lock")
}

// needFlock skips the test if the file system has no locks.
func needFlock(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	fail.On(t, err)
	defer f.Close()
	if err := flock(f); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the file system has no flock")
	}
}

// lockInFolder, if set, makes the test binary lock that folder and end: with 0 if it could, and 1 if
// the folder was locked.
const lockInFolder = "GANTRY_TEST_LOCK"

func TestMain(m *testing.M) {
	dir := os.Getenv(lockInFolder)
	if dir == "" {
		os.Exit(m.Run())
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		var l *Lock
		if l, err = Acquire(root, "lock"); err == nil {
			err = l.Release()
		}
	}
	var locked *LockedError
	switch {
	case errors.As(err, &locked):
		os.Exit(1)
	case err != nil:
		os.Exit(2)
	}
	os.Exit(0)
}

// A second process is refused while the first one has the lock, on every operating system.
func TestAcquireInTwoProcesses(t *testing.T) {
	root, path := folder(t)
	lock := func() int {
		t.Helper()
		program, err := os.Executable()
		fail.On(t, err)
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), lockInFolder+"="+filepath.Dir(path))
		_ = cmd.Run() // the exit status is the result
		return cmd.ProcessState.ExitCode()
	}
	l, err := Acquire(root, "lock")
	fail.On(t, err)
	fail.Diff(t, 1, lock())
	fail.On(t, l.Release())
	fail.Diff(t, 0, lock())
}

func TestAcquire(t *testing.T) {
	for name, f := range map[string]func(*os.File) error{"flock": flock, "none": unsupported} {
		t.Run(name, func(t *testing.T) {
			root, path := folder(t)
			if name == "flock" {
				needFlock(t, path+".probe")
			}
			first, err := acquire(root, "lock", f)
			fail.On(t, err)
			_, err = acquire(root, "lock", f)
			var locked *LockedError
			if !errors.As(err, &locked) {
				t.Fatalf("the second got %v, want a LockedError", err)
			}
			if want := fmt.Sprintf("process %d on %s since 2", os.Getpid(), host()); !strings.HasPrefix(locked.Owner, want) {
				t.Errorf("the owner is %q, want %q…", locked.Owner, want)
			}
			if locked.Path != path || locked.Unsure != (name == "none") {
				t.Errorf("%+v, want the path %s", locked, path)
			}
			fail.On(t, first.Release())
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is still there: %v", err)
			}
			second, err := acquire(root, "lock", f)
			fail.On(t, err)
			fail.On(t, second.Release())
		})
	}
}

// The file of a killed run does not count with flock. Without it, the process is checked.
func TestFileOfKilledRun(t *testing.T) {
	for name, tc := range map[string]struct {
		text   string
		locked bool // without flock
	}{
		"empty":        {"", false},
		"dead":         {"process 2147483646 on " + host() + " since 2026-01-01T00:00:00Z", false},
		"alive":        {fmt.Sprintf("process %d on %s since 2026-01-01T00:00:00Z", os.Getpid(), host()), true},
		"another host": {"process 1 on elsewhere since 2026-01-01T00:00:00Z", true},
		"scribble":     {"?", false},
		"long":         {strings.Repeat("x", 2*maxOwner), false},
	} {
		for system, f := range map[string]func(*os.File) error{"flock": flock, "none": unsupported} {
			t.Run(name+"/"+system, func(t *testing.T) {
				root, path := folder(t)
				if system == "flock" {
					needFlock(t, path+".probe")
				}
				fail.On(t, os.WriteFile(path, []byte(tc.text), 0o644))
				l, err := acquire(root, "lock", f)
				var locked *LockedError
				if want := tc.locked && system == "none"; errors.As(err, &locked) != want || !want && err != nil {
					t.Fatalf("acquire = %v, want locked: %t", err, want)
				}
				if locked != nil {
					if hint := advice.Hint(err); !strings.Contains(hint, "remove "+path) || advice.KindOf(err) != advice.Locked {
						t.Errorf("the hint is %q", hint)
					}
					return
				}
				text, err := os.ReadFile(path)
				if want := fmt.Sprintf("process %d ", os.Getpid()); err != nil || !strings.HasPrefix(string(text), want) || strings.Count(string(text), "\n") != 1 {
					t.Errorf("the file says %q (%v), want %q… on one line", text, err, want)
				}
				fail.On(t, l.Release())
			})
		}
	}
}

// Many runs lock and unlock at once: never do two have the lock, and none has the lock of a removed
// file.
func TestAcquireRace(t *testing.T) {
	root, path := folder(t)
	needFlock(t, path+".probe")
	var inside, entered atomic.Int32
	done := make(chan error)
	for range 8 {
		go func() {
			done <- func() error {
				for entered.Load() < 200 {
					l, err := Acquire(root, "lock")
					if _, ok := errors.AsType[*LockedError](err); ok {
						continue
					}
					if err != nil {
						return err
					}
					if n := inside.Add(1); n != 1 {
						return fmt.Errorf("%d have the lock", n)
					}
					entered.Add(1)
					inside.Add(-1)
					if err := l.Release(); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range 8 {
		fail.On(t, <-done)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestAcquireInRemovedFolder(t *testing.T) {
	root, path := folder(t)
	fail.On(t, os.Remove(filepath.Dir(path)))
	if l, err := Acquire(root, "lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Acquire = %v, %v, want fs.ErrNotExist", l, err)
	}
}

// If a user removed the file and another run created it again, Release keeps it.
func TestReleaseKeepsFileOfAnotherRun(t *testing.T) {
	root, path := folder(t)
	l, err := acquire(root, "lock", unsupported)
	fail.On(t, err)
	fail.On(t, errors.Join(os.Remove(path), os.WriteFile(path, []byte("process 1 on elsewhere"), 0o644), l.Release()))
	if text, err := os.ReadFile(path); err != nil || string(text) != "process 1 on elsewhere" {
		t.Errorf("the file of the other run is %q, %v", text, err)
	}
}
