package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// A localError means that an oci:// source of the configuration does not exist, is not a layout or
// does not contain the image. Unlike the error of a registry, it is a mistake in the configuration.
type localError struct{ err error }

func (e *localError) Error() string { return e.err.Error() }
func (e *localError) Unwrap() error { return e.err }

// localImages returns a localError for the root of an oci:// source.
type localImages struct{ image.Reader }

func (l localImages) Manifest(ctx context.Context, source string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, raw, err := l.Reader.Manifest(ctx, source, d)
	if err != nil && d == "" && ctx.Err() == nil && strings.HasPrefix(source, ociScheme) {
		err = &localError{err}
	}
	return desc, raw, err
}

// maxProblems is the number of images that an error lists.
const maxProblems = 20

// inputProblems returns an error for mistakes in the configuration: platforms that an image does not have, and layouts that do
// not exist. Otherwise the images would only be reported as missing after everything else was copied.
func inputProblems(all []resolvedImage) error {
	var lines []string
	var platforms bool
	for _, r := range all {
		if r.err == nil {
			continue
		}
		var local *localError
		var none *platformError
		switch where := r.request.requestedBy(); {
		case errors.As(r.err, &local):
			lines = append(lines, where+": "+advice.Text(local))
		case errors.As(r.err, &none):
			platforms = true
			lines = append(lines, where+": "+none.Error())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	slices.Sort(lines)
	text := count(len(lines), "image is", "images are") + " not available as configured"
	if platforms {
		text += ": select platforms that the images have, remove platforms from the entry, or block the images"
	}
	if more := len(lines) - maxProblems; more > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return inputErrorf("%s\n  %s", text, strings.Join(lines, "\n  "))
}

// maxUnavailable is the number of images that the error of noneAvailable lists.
const maxUnavailable = 100

// noneAvailable returns an error with the images of a plan, none of which can be read.
func noneAvailable(missing []plan.Missing) error {
	if len(missing) == 1 {
		what, hint := "the only image", "check the name and the tag"
		if missing[0].Kind == plan.FileImage {
			what, hint = "the only content", "check the address"
		}
		err := fmt.Errorf("%s cannot be read: %s: %w", what, plan.SourceText(missing[0].Source), missing[0].Err())
		if errors.Is(err, fs.ErrNotExist) && advice.Hint(err) == "" {
			return advice.Wrap(advice.KindOf(err), err, hint)
		}
		return err
	}
	var others strings.Builder
	for i, m := range missing[1:] {
		if i+1 == maxUnavailable {
			fmt.Fprintf(&others, "\n  and %d more", len(missing)-maxUnavailable)
			break
		}
		fmt.Fprintf(&others, "\n  %s: %s", m.Source, m.Message)
	}
	return fmt.Errorf("none of %d images can be read:\n  %s: %w%s", len(missing), missing[0].Source, missing[0].Err(), &others)
}
