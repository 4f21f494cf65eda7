package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// A LockedError says that another run writes to the folder.
type LockedError struct {
	Dir    string
	Holder string // "process 12 on host-a since 2026-01-02T03:04:05Z"
	// Lock is the file that stands for the lock where the file system has no
	// real ones; "" elsewhere. It may have outlived its run.
	Lock string
}

func (e *LockedError) Error() string {
	s := fmt.Sprintf("%s is written to by %s: wait for that run to end", e.Dir, e.Holder)
	if e.Lock != "" {
		s += ", or, when it is no more, remove " + e.Lock
	}
	return s
}

// lockName is the lock inside the partial folder.
const lockName = "lock"

// errHeld says that another open file has the lock.
var errHeld = errors.New("held by another process")

// A lock is held by this process until release.
type lock struct {
	folder *os.Root
	f      *os.File
}

// acquire takes the lock of the partial folder without waiting. flock is the
// operating system's, whose locks end with their process. On a file system that
// has none, the name in the file counts for as long as its process lives.
func acquire(dir string, folder *os.Root, flock func(*os.File) error) (*lock, error) {
	for {
		f, err := folder.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", dir, err)
		}
		text, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		holder := strings.TrimSpace(string(text))
		path := ""
		err = flock(f)
		if errors.Is(err, errors.ErrUnsupported) {
			path, err = f.Name(), nil
			if lives(holder) {
				err = errHeld
			}
		}
		if errors.Is(err, errHeld) {
			if holder == "" {
				holder = "another run"
			}
			return nil, errors.Join(&LockedError{Dir: dir, Holder: holder, Lock: path}, f.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), f.Close())
		}
		// The holder before may have removed the file on its way out.
		if here, err := folder.Lstat(lockName); err != nil || !isSame(f, here) {
			if err := f.Close(); err != nil {
				return nil, fmt.Errorf("locking %s: %w", dir, err)
			}
			continue
		}
		if err := errors.Join(f.Truncate(0), sign(f)); err != nil {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), f.Close())
		}
		return &lock{folder: folder, f: f}, nil
	}
}

func isSame(f *os.File, info fs.FileInfo) bool {
	own, err := f.Stat()
	return err == nil && os.SameFile(own, info)
}

// sign writes who holds the lock.
func sign(f *os.File) error {
	_, err := f.WriteAt(fmt.Appendf(nil, "process %d on %s since %s\n", os.Getpid(), host(), time.Now().UTC().Format(time.RFC3339)), 0)
	return err
}

func host() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "this-host"
	}
	return name
}

// lives reports whether the process that signed the lock may still be there.
// That of another host cannot be asked.
func lives(holder string) bool {
	var pid int
	var at string
	if _, err := fmt.Sscanf(holder, "process %d on %s", &pid, &at); err != nil {
		return false
	}
	return at != host() || processLives(pid)
}

// release removes the lock while it is held, then lets go of it.
func (l *lock) release() error {
	err := l.folder.Remove(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.f.Close())
}
