// Package lockfile prevents two runs from using a folder at the same time.
//
// A lock is a file in the folder with the process, host and start time of the run that has it. The
// operating system locks the file (flock, or LockFileEx on Windows) and unlocks it when the process
// ends, so that a run that was killed blocks no other run.
//
// Some file systems have no locks: some network file systems, and on some systems removable disks.
// There, the folder is locked while the process in the file exists. A process of another host cannot
// be checked and is assumed to exist. This refuses a second run that starts while the first one
// works, but not two runs that start at the same instant.
//
// Acquire never waits: if the folder is locked, its error names the run that locked it. Release
// removes the file.
package lockfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// A LockedError means that another run has the lock.
type LockedError struct {
	Path  string // of the lock file
	Owner string // "process 12 on host-a since 2026-01-02T03:04:05Z (user ci)"
	// Unsure is set if the file system has no locks: the process may no longer exist.
	Unsure bool
}

func (e *LockedError) Error() string { return fmt.Sprintf("%s is locked by %s", e.Path, e.Owner) }

// Advice implements advice.Adviser.
func (e *LockedError) Advice() (advice.Kind, string) {
	hint := "wait for that run to end, or use another folder"
	if e.Unsure {
		hint += "; if that process no longer exists, remove " + e.Path
	}
	return advice.Locked, hint
}

// A Lock belongs to this process until Release.
type Lock struct {
	folder *os.Root
	name   string
	f      *os.File
}

// errLocked means that another open file has the lock.
var errLocked = errors.New("locked by another process")

// maxOwner is how many bytes of a lock file are read.
const maxOwner = 1 << 10

// Acquire locks folder with a file of this name. If another run has the lock, the error is a
// *LockedError; if folder was removed, the error matches fs.ErrNotExist. The Lock uses folder until
// it is released.
func Acquire(folder *os.Root, name string) (*Lock, error) {
	l, err := acquire(folder, name, flock)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", folder.Name(), err)
	}
	return l, nil
}

// acquire is Acquire with the lock of the operating system as an argument.
func acquire(folder *os.Root, name string, flock func(*os.File) error) (*Lock, error) {
	for {
		l, err := try(folder, name, flock)
		if l != nil || err != nil {
			return l, err
		}
	}
}

// try returns nil if the file was removed before it was locked.
func try(folder *os.Root, name string, flock func(*os.File) error) (_ *Lock, err error) {
	f, err := regular.Edit(folder, name, os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			err = errors.Join(err, f.Close())
		}
	}()
	text, _ := io.ReadAll(io.LimitReader(f, maxOwner)) // on an error, the owner is unknown
	owner := strings.TrimSpace(string(text))
	err = flock(f)
	unsure := errors.Is(err, errors.ErrUnsupported)
	if unsure {
		err = nil
		if mayRun(owner) {
			err = errLocked
		}
	}
	if errors.Is(err, errLocked) {
		owner = cmp.Or(owner, "another run")
		return nil, &LockedError{Path: filepath.Join(folder.Name(), name), Owner: owner, Unsure: unsure}
	}
	if err != nil {
		return nil, err
	}
	// The previous owner may have removed the file on release.
	if info, err := folder.Lstat(name); err != nil || !isSame(f, info) {
		return nil, nil
	}
	// On a full disk, the lock of the operating system is enough.
	if err := errors.Join(f.Truncate(0), writeOwner(f)); err != nil && unsure {
		return nil, err
	}
	keep = true
	return &Lock{folder: folder, name: name, f: f}, nil
}

// TryLock locks an open file until it is closed, and reports whether it did: another open file may
// have the lock, also one of this process. On a file system without locks, the error is
// errors.ErrUnsupported.
func TryLock(f *os.File) (bool, error) {
	err := flock(f)
	if errors.Is(err, errLocked) {
		return false, nil
	}
	return err == nil, err
}

func isSame(f *os.File, info fs.FileInfo) bool {
	own, err := f.Stat()
	return err == nil && os.SameFile(own, info)
}

// writeOwner writes that this process has the lock.
func writeOwner(f *os.File) error {
	text := fmt.Sprintf("process %d on %s since %s", os.Getpid(), host(), time.Now().UTC().Format(time.RFC3339))
	if name := user(); name != "" {
		text += " (user " + name + ")"
	}
	_, err := f.WriteAt([]byte(text+"\n"), 0)
	return err
}

// user returns the name of the user in the environment, or "".
func user() string {
	for _, variable := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name := os.Getenv(variable); name != "" && len(name) <= 64 && !strings.ContainsFunc(name, unicode.IsControl) {
			return name
		}
	}
	return ""
}

func host() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "this-host"
	}
	return name
}

// mayRun reports whether the owner may still exist.
func mayRun(owner string) bool {
	var pid int
	var at string
	if _, err := fmt.Sscanf(owner, "process %d on %s", &pid, &at); err != nil {
		return false
	}
	return at != host() || isRunning(pid)
}

// Release removes the file and then unlocks it. If another run replaced the file, after a user
// deleted it, that file stays.
func (l *Lock) Release() error {
	info, err := l.folder.Lstat(l.name)
	if err == nil && isSame(l.f, info) {
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

// Host returns the name of this host, as locks have it.
func Host() string { return host() }

// IsRunning reports whether a process of this host exists.
func IsRunning(process int) bool { return isRunning(process) }
