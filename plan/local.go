package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// A localError says that an oci:// source that the configuration names is not
// there, or is no layout, or has no such image: the configuration's mistake, as
// a source registry's answer is not.
type localError struct{ err error }

func (e *localError) Error() string { return e.err.Error() }
func (e *localError) Unwrap() error { return e.err }

// localImages marks what Images says of the root of an oci:// source.
type localImages struct{ Images }

func (l localImages) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, raw, err := l.Images.Manifest(ctx, source, d)
	if err != nil && d == "" && ctx.Err() == nil && strings.HasPrefix(source, ociScheme) {
		err = &localError{err}
	}
	return desc, raw, err
}

// maxProblems is how many images an error lists.
const maxProblems = 20

// inputProblems collects what is the configuration's to mend: platforms that an
// image does not have, layouts that are not there. It is better known before
// anything is copied than as a list of images that are missing.
func inputProblems(all []resolved) error {
	var lines []string
	var platforms bool
	for _, r := range all {
		if r.err == nil {
			continue
		}
		var local *localError
		var none *platformError
		switch where := r.wish.asked(); {
		case errors.As(r.err, &local):
			lines = append(lines, where+": "+local.Error())
		case errors.As(r.err, &none):
			platforms = true
			lines = append(lines, where+": "+none.Error())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	slices.Sort(lines)
	text := count(len(lines), "image is", "images are") + " not what the configuration asks for"
	if platforms {
		text += ": give platforms that it has, leave platforms out, or block the image"
	}
	if more := len(lines) - maxProblems; more > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return &InputError{errors.New(text + "\n  " + strings.Join(lines, "\n  "))}
}
