package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// peak is the most memory that an ended process had resident, in bytes.
func peak(s *os.ProcessState) int64 {
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10 // getrusage(2): in kilobytes
	}
	return 0
}

// freeSpace is what a file system has left, in bytes.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil //nolint:gosec // of a folder in memory
}
