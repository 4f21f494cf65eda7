package delta

import (
	"time"

	"github.com/gantry-mirror/gantry/pkg/delta/cputime"
)

// measure runs f and returns the processor time it used. f must not start goroutines.
func measure(f func() error) (time.Duration, error) {
	stop := cputime.Start()
	err := f()
	return stop(), err
}
