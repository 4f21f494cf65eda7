package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// peak returns the largest resident memory of a process that ended, in bytes.
func peak(s *os.ProcessState) int64 {
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10 // in kilobytes, see getrusage(2)
	}
	return 0
}

// freeSpace returns the free space of a file system in bytes.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil //nolint:gosec // of a folder in memory
}
