package mirror

import (
	"cmp"
	"errors"
	"sync"

	"github.com/gantry-mirror/gantry/plan"
)

// A StopError says which image failed first in a run that was to stop there.
type StopError struct {
	Image string // its source
	Err   error
}

func (e *StopError) Error() string { return e.what() + ": " + e.Hint() }

func (e *StopError) what() string { return "stopped, since " + e.Image + " is not mirrored" }

// Hint says what to do.
func (e *StopError) Hint() string {
	return "mend what failed and run again; what has arrived is not sent again"
}

// Unwrap returns the reason.
func (e *StopError) Unwrap() error { return e.Err }

// missingStops is the end of a run whose plan lacks an image.
func missingStops(m plan.Missing) *StopError {
	return &StopError{Image: m.Source, Err: cmp.Or(m.Err(), errors.New(m.Reason))}
}

// A halt keeps a run that is to stop with its first failure from beginning
// anything more.
type halt struct {
	one   *sync.Once
	halts chan struct{} // closed where the run is to stop
	first *StopError    // to be read after that
}

func newHalt() halt { return halt{one: &sync.Once{}, halts: make(chan struct{})} }

// failed notes that an image failed, where err says so.
func (r *run) failed(img *image, err error) {
	if !r.Stop || err == nil || errors.Is(err, errHeld) {
		return
	}
	r.one.Do(func() {
		r.first = &StopError{Image: img.Source, Err: err}
		close(r.halts)
	})
}

func (r *run) halted() bool {
	select {
	case <-r.halts:
		return true
	default:
		return false
	}
}
