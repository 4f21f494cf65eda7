package mirror

import (
	"errors"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A sourceError is an error of the source that the destination returned.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// fatal reports whether err of the destination ends the run. A disk of this machine that is full ends it even if
// the source needs it, as for the bases of deltas.
func (r *run) fatal(err error) bool {
	if err == nil {
		return false
	}
	var s *sourceError
	var sparse *SparseError
	var failing *FailingError
	return space.IsFull(err) || !errors.As(err, &s) && (r.Fatal(err) || errors.As(err, &sparse) || errors.As(err, &failing))
}

// fatalWrite reports whether err of a push ends the run. A connection may break because of single
// content; [run.record] notices if everything fails.
func (r *run) fatalWrite(err error) bool {
	var failing *FailingError
	return r.fatal(err) && (!errors.Is(err, remote.ErrBroken) || errors.As(err, &failing))
}

// explain adds what was being done to err, unless it is an error of a registry, which names it
// itself.
func explain(err error, doing string) error {
	if _, ok := errors.AsType[*remote.Error](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}
