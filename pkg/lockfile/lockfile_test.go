package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func unsupported(*os.File) error { return errors.ErrUnsupported }

// folder opens a new folder, and says where its lock stands.
func folder(t *testing.T) (root *os.Root, path string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, filepath.Join(dir, "lock")
}

// needFlock skips the test where there is none.
func needFlock(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := flock(f); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the file system has no flock")
	}
}

func TestAcquire(t *testing.T) {
	for name, f := range map[string]func(*os.File) error{"flock": flock, "none": unsupported} {
		t.Run(name, func(t *testing.T) {
			root, path := folder(t)
			if name == "flock" {
				needFlock(t, path+".probe")
			}
			first, err := acquire(root, "lock", f)
			if err != nil {
				t.Fatal(err)
			}
			_, err = acquire(root, "lock", f)
			var held *HeldError
			if !errors.As(err, &held) {
				t.Fatalf("the second got %v, want a HeldError", err)
			}
			if want := fmt.Sprintf("process %d on %s since 2", os.Getpid(), host()); !strings.HasPrefix(held.Holder, want) {
				t.Errorf("the holder is %q, want %q…", held.Holder, want)
			}
			if held.Path != path || held.Unsure != (name == "none") {
				t.Errorf("%+v, want the path %s", held, path)
			}
			if err := first.Release(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is still there: %v", err)
			}
			second, err := acquire(root, "lock", f)
			if err != nil {
				t.Fatal(err)
			}
			if err := second.Release(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A file that a killed run left says nothing where there is flock; elsewhere
// its process is asked for.
func TestFileThatOutlivedItsRun(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		held bool // where there is no flock
	}{
		"empty":        {"", false},
		"dead":         {"process 2147483646 on " + host() + " since 2026-01-01T00:00:00Z", false},
		"alive":        {fmt.Sprintf("process %d on %s since 2026-01-01T00:00:00Z", os.Getpid(), host()), true},
		"another host": {"process 1 on elsewhere since 2026-01-01T00:00:00Z", true},
		"scribble":     {"?", false},
		"long":         {strings.Repeat("x", 2*maxHolder), false},
	} {
		for system, f := range map[string]func(*os.File) error{"flock": flock, "none": unsupported} {
			t.Run(name+"/"+system, func(t *testing.T) {
				root, path := folder(t)
				if system == "flock" {
					needFlock(t, path+".probe")
				}
				if err := os.WriteFile(path, []byte(tc.text), 0o644); err != nil {
					t.Fatal(err)
				}
				l, err := acquire(root, "lock", f)
				var held *HeldError
				if want := tc.held && system == "none"; errors.As(err, &held) != want || !want && err != nil {
					t.Fatalf("acquire = %v, want held: %t", err, want)
				}
				if held != nil {
					if !strings.Contains(err.Error(), "remove "+path) {
						t.Errorf("no way out is shown: %v", err)
					}
					return
				}
				text, err := os.ReadFile(path)
				if want := fmt.Sprintf("process %d ", os.Getpid()); err != nil || !strings.HasPrefix(string(text), want) || strings.Count(string(text), "\n") != 1 {
					t.Errorf("the file says %q (%v), want %q… on one line", text, err, want)
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Many at once, each letting go again: at no time do two hold the lock, and
// nobody is left with a file that is no longer there.
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
					var held *HeldError
					if errors.As(err, &held) {
						continue
					}
					if err != nil {
						return err
					}
					if n := inside.Add(1); n != 1 {
						return fmt.Errorf("%d hold the lock", n)
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
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestAcquireInFolderThatIsGone(t *testing.T) {
	root, path := folder(t)
	if err := os.Remove(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if l, err := Acquire(root, "lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Acquire = %v, %v, want fs.ErrNotExist", l, err)
	}
}

// Where somebody took the file away and another run came, its lock stays.
func TestReleaseKeepsWhatIsAnothers(t *testing.T) {
	root, path := folder(t)
	l, err := acquire(root, "lock", unsupported)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("process 1 on elsewhere"), 0o644), l.Release()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "process 1 on elsewhere" {
		t.Errorf("the other's file is %q, %v", text, err)
	}
}
