package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that the thread used.
func threadTime() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err == nil
}
