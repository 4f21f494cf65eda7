package main

import (
	"fmt"
	"syscall"
)

// rlimitData is RLIMIT_DATA of Linux, which counts private writable memory.
const rlimitData = 2

// limitData makes the system refuse memory above a number of bytes.
func limitData(n uint64) error {
	if err := syscall.Setrlimit(rlimitData, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("limiting the memory: %w", err)
	}
	return nil
}
