package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedOffset is the offset of the byte that is locked. Windows refuses to read locked bytes, so
// it is far behind the text of the file, which other runs read.
const lockedOffset = 1 << 62

// flock locks a file until it is closed. It returns errLocked if another handle has the lock, and
// errors.ErrUnsupported if the file system has no locks.
func flock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: lockedOffset >> 32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return errLocked
	case errors.Is(err, windows.ERROR_NOT_SUPPORTED), errors.Is(err, windows.ERROR_INVALID_FUNCTION), errors.Is(err, windows.ERROR_CALL_NOT_IMPLEMENTED):
		return errors.ErrUnsupported
	}
	return err
}

// isRunning reports whether a process of this host exists.
func isRunning(pid int) bool {
	if pid < 0 {
		return false
	}
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	event, err := windows.WaitForSingleObject(h, 0) // a process that has ended is signaled
	return err != nil || event == uint32(windows.WAIT_TIMEOUT)
}
