package archive

import (
	"cmp"
	"errors"
	"io/fs"
	"os"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// whyNotFound explains why folders without a set manifest, and without volumes that have a label, are
// no archive.
func whyNotFound(lists []*listing) error {
	high, repair, foreign := 0, 0, notFoundError{}
	for _, l := range lists {
		if l.partial {
			return &notFoundError{"writing it was not finished", "run that again"}
		}
		high, foreign = max(high, l.highest()), cmp.Or(foreign, l.foreignIs)
		for _, sequence := range l.repairs {
			repair = max(repair, sequence)
		}
	}
	switch {
	case repair > 0:
		return &notFoundError{setID{repair, true}.manifest() + " repairs a set that is missing", "bring " + setName(repair) + " and its volumes too"}
	case high > 0:
		return &notFoundError{"it has files of " + setName(high) + ", but neither that nor volumes with a label", "copy the volumes again; they may be cut off or damaged"}
	}
	if foreign != (notFoundError{}) {
		return &foreign
	}
	return &notFoundError{"there is none: there are no volumes such as " + (setID{sequence: 1}).volume(1) + ", and no set manifest", "name the folder that has them"}
}

// openFolder opens a folder of an archive.
func openFolder(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &notFoundError{err.Error(), "check the path, and that the disk is mounted"}
	}
	return root, err
}

// A notFoundError explains why there is no archive, and wraps fs.ErrNotExist.
type notFoundError struct{ what, hint string }

func (e *notFoundError) Error() string { return e.what }
func (*notFoundError) Unwrap() error   { return fs.ErrNotExist }

// Advice implements advice.Adviser.
func (e *notFoundError) Advice() (advice.Kind, string) { return advice.Failure, e.hint }
