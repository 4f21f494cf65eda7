package archive

import (
	"cmp"
	"errors"
	"io/fs"
	"os"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// whyNotFound explains why folders without a set manifest are no archive.
func whyNotFound(lists []*listing) error {
	high, repair, foreign := 0, 0, ""
	for _, l := range lists {
		if l.partial {
			return &notFoundError{"writing it was not finished", "run that again"}
		}
		high, foreign = max(high, l.highest()), cmp.Or(foreign, l.foreign)
		for _, sequence := range l.repairs {
			repair = max(repair, sequence)
		}
	}
	switch {
	case repair > 0:
		return &notFoundError{setID{repair, true}.manifest() + " repairs a set that is missing", "bring " + setName(repair) + " and its volumes too"}
	case high > 0:
		return &notFoundError{"it has volumes and no set manifest", "bring " + setName(high) + " too"}
	}
	if foreign != "" {
		return &notFoundError{foreign + " is of an archive of oc mirror, which cannot be read, or its set manifest is missing", "bring " + setName(1) + " and what belongs to it, or write one from the same configuration; content that the mirror already has is not copied again"}
	}
	return &notFoundError{"there is none, since there is no set manifest such as " + setName(1), "name the folder that has it"}
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
