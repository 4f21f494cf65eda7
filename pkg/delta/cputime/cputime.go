// Package cputime measures the processor time of work, so that other programs on a busy machine do not count.
package cputime

import (
	"runtime"
	"time"
)

// Start begins to measure. stop returns the processor time that the calling goroutine used since, and has to be called
// from the same goroutine, once. Other goroutines that it starts do not count. On systems other than Linux, it is the
// time that passed.
func Start() (stop func() time.Duration) {
	runtime.LockOSThread()
	began := time.Now()
	from, ok := threadTime()
	return func() time.Duration {
		defer runtime.UnlockOSThread()
		if to, again := threadTime(); ok && again {
			return to - from
		}
		return time.Since(began)
	}
}
