// Package lockfile keeps two runs from working in one folder at the same time.
//
// A lock is a file in the folder that says who holds it: process, host, since
// when. What makes it a lock is the operating system's flock, which ends with
// its process, so that a run that was killed stands in nobody's way.
//
// Some file systems have no flock: network ones, and removable ones on some
// systems. There, what the file says counts for as long as the process that it
// names is alive; that of another host cannot be asked and is taken to be. It
// keeps a second run out that begins while the first one works, though not two
// that begin in the same instant.
//
// Nothing here waits: who comes second is told by whom the lock is held. The
// file is removed when the lock is let go of.
package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A HeldError says that another run holds the lock.
type HeldError struct {
	Path   string // of the lock file
	Holder string // "process 12 on host-a since 2026-01-02T03:04:05Z"
	// Unsure is set where the file system has no locks: the file may have
	// outlived its process.
	Unsure bool
}

func (e *HeldError) Error() string {
	s := fmt.Sprintf("%s is held by %s: wait for that run to end, or use another folder", e.Path, e.Holder)
	if e.Unsure {
		s += "; when it is no more, remove " + e.Path
	}
	return s
}

// A Lock is held by this process until Release.
type Lock struct {
	folder *os.Root
	name   string
	f      *os.File
}

// errHeld says that another open file has the lock.
var errHeld = errors.New("held by another process")

// maxHolder bounds what is read of a lock file, in bytes.
const maxHolder = 1 << 10

// Acquire takes the lock whose file is called name in folder. Where another
// run holds it, the error is a *HeldError; where folder was removed meanwhile,
// it wraps fs.ErrNotExist. The Lock uses folder until it is released.
func Acquire(folder *os.Root, name string) (*Lock, error) {
	l, err := acquire(folder, name, flock)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", folder.Name(), err)
	}
	return l, nil
}

// acquire is Acquire with the operating system's flock as an argument.
func acquire(folder *os.Root, name string, flock func(*os.File) error) (*Lock, error) {
	for {
		l, err := try(folder, name, flock)
		if l != nil || err != nil {
			return l, err
		}
	}
}

// try returns nil where the file was removed while its lock was taken.
func try(folder *os.Root, name string, flock func(*os.File) error) (_ *Lock, err error) {
	f, err := folder.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, f.Close())
		}
	}()
	text, _ := io.ReadAll(io.LimitReader(f, maxHolder)) // without it, the holder has no name
	holder := strings.TrimSpace(string(text))
	err = flock(f)
	unsure := errors.Is(err, errors.ErrUnsupported)
	if unsure {
		err = nil
		if lives(holder) {
			err = errHeld
		}
	}
	if errors.Is(err, errHeld) {
		if holder == "" {
			holder = "another run"
		}
		return nil, &HeldError{Path: filepath.Join(folder.Name(), name), Holder: holder, Unsure: unsure}
	}
	if err != nil {
		return nil, err
	}
	// The holder before may have removed the file on its way out.
	if here, err := folder.Lstat(name); err != nil || !isSame(f, here) {
		return nil, nil
	}
	if err := errors.Join(f.Truncate(0), sign(f)); err != nil {
		return nil, err
	}
	kept = true
	return &Lock{folder: folder, name: name, f: f}, nil
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
func lives(holder string) bool {
	var pid int
	var at string
	if _, err := fmt.Sscanf(holder, "process %d on %s", &pid, &at); err != nil {
		return false
	}
	return at != host() || processLives(pid)
}

// Release removes the file while the lock is held, then lets go of it. A file
// that another run put in its place, after somebody removed it, stays.
func (l *Lock) Release() error {
	here, err := l.folder.Lstat(l.name)
	if err == nil && isSame(l.f, here) {
		err = l.folder.Remove(l.name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, l.f.Close()); err != nil {
		return fmt.Errorf("unlocking %s: %w", l.folder.Name(), err)
	}
	return nil
}
