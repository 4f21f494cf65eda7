package mirror

import (
	"cmp"
	"errors"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A StopError ends a run with Options.StopOnError.
type StopError struct {
	Image string // the source of the image that failed first
	Err   error  // why it failed
}

func (e *StopError) Error() string { return "stopped because " + e.Image + " is not mirrored" }

// Advice returns the kind and what to do.
func (e *StopError) Advice() (advice.Kind, string) {
	return advice.Failure, "fix what failed and run again; completed content is not sent again"
}

// Unwrap returns why the image failed.
func (e *StopError) Unwrap() error { return e.Err }

// missingImageStop returns the error of a run with Options.StopOnError whose plan lacks an image.
func missingImageStop(m plan.Missing) *StopError {
	return &StopError{Image: m.Source, Err: cmp.Or(m.Err(), errors.New(m.Message))}
}

// A stopper ends a run with Options.StopOnError: after the first failure nothing new is started.
type stopper struct {
	once         *sync.Once
	stopping     chan struct{} // closed after the first failure
	firstFailure *StopError    // may be read after that
}

func newStopper() stopper { return stopper{once: &sync.Once{}, stopping: make(chan struct{})} }

// noteFailure records that an image failed with err, which may be nil.
func (r *run) noteFailure(img *image, err error) {
	if !r.StopOnError || err == nil || errors.Is(err, errWithheld) {
		return
	}
	r.once.Do(func() {
		r.firstFailure = &StopError{Image: img.Source, Err: err}
		close(r.stopping)
	})
}

func (r *run) stopped() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}
