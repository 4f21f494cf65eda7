//go:build !linux

package delta

import "time"

// measure runs f and returns the time it took. These systems do not tell the processor time of a thread.
func measure(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}
