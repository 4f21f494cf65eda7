package delta

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// measure runs f and returns the processor time it used. Other programs on the machine do not count. f must not start goroutines.
func measure(f func() error) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	var from, to unix.Timespec
	failed := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &from) != nil
	err := f()
	if failed || unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &to) != nil {
		return time.Since(began), err
	}
	return time.Duration(to.Nano() - from.Nano()), err
}
