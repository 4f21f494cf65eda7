package mirror

import (
	"errors"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A sourceError is an error of the source that came up through the sink.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// fatal reports whether err, returned by the sink, ends the run.
func (r *run) fatal(err error) bool {
	if err == nil {
		return false
	}
	var s *sourceError
	var sparse *SparseError
	var failing *FailingError
	return !errors.As(err, &s) && (r.Fatal(err) || errors.As(err, &sparse) || errors.As(err, &failing))
}

// spoils reports whether err, with which the sink took no content, ends the run. A
// connection may break for the content alone: what the sink does with others, [run.took]
// sees.
func (r *run) spoils(err error) bool {
	var failing *FailingError
	return r.fatal(err) && (!errors.Is(err, remote.ErrBroken) || errors.As(err, &failing))
}

// explain says what was done where err, as those of registries do, does not say
// it itself.
func explain(err error, doing string) error {
	var said *remote.Error
	if errors.As(err, &said) {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}
