package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A LockedError says that another run holds the folder.
type LockedError struct {
	Path   string // of the lock
	Holder string // process, host and time, as the holder wrote them
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is held by %s: wait for that run to end, or use another folder", e.Path, e.Holder)
}

// lock is a file that the operating system locks for this process, so that a
// run that dies lets go of it.
type lock struct{ f *os.File }

func acquire(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking: %w", err)
	}
	if err := lockFile(f); err != nil {
		text, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		cause := errors.Join(err, f.Close())
		if errors.Is(err, errLocked) {
			holder := strings.TrimSpace(string(text))
			if holder == "" {
				holder = "another run"
			}
			return nil, &LockedError{Path: path, Holder: holder}
		}
		return nil, fmt.Errorf("locking %s: %w", path, cause)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	holder := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if err := errors.Join(f.Truncate(0), writeAt(f, holder)); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return &lock{f: f}, nil
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

func (l *lock) release() error {
	return errors.Join(l.f.Truncate(0), l.f.Close())
}
