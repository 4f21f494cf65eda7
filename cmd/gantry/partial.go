package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gantry-mirror/gantry/mirror"
)

// A partialError ends a run that left some content out; the list has been
// printed. It wraps the reasons, since a damaged volume among them has an exit
// status of its own.
type partialError struct {
	failed, held, leftOut int
	releases              int  // of those held
	planned               bool // only planned: nothing was copied
	missing               bool // the source did not even give some to the plan
	buildsOn              bool // the source is an archive that leaves content out
	reasons               []error
}

func newPartialError(report *mirror.Report) *partialError {
	e := &partialError{failed: len(report.Failed), held: len(report.Held), leftOut: len(report.LeftOut)}
	for _, x := range report.Held {
		if x.Release != "" {
			e.releases++
		}
	}
	for _, f := range report.Failed {
		e.missing = e.missing || f.Repository == ""
		if f.Err != nil {
			e.reasons = append(e.reasons, f.Err)
		}
	}
	return e
}

func (e *partialError) Error() string { return e.what() + ": " + e.Hint() }

func (e *partialError) what() string {
	if e.planned {
		return number(e.failed, "image is", "images are") + " missing at the source"
	}
	s := number(e.failed, "image is", "images are") + " not mirrored"
	if e.leftOut > 0 {
		s += ", " + number(e.leftOut, "package is", "packages are") + " left out"
	}
	if n := e.held - e.releases; n > 0 {
		s += ", " + number(n, "catalog is", "catalogs are") + " held back"
	}
	if e.releases > 0 {
		s += ", " + number(e.releases, "release is", "releases are") + " held back"
	}
	return s + "; the rest is consistent"
}

// Hint says what to do.
func (e *partialError) Hint() string {
	if e.planned {
		return "mend what the list names, or block it with mirror.blockedImages"
	}
	if e.buildsOn && slices.ContainsFunc(e.reasons, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }) {
		return "name the archives that the list names, too, with --from; or run again with --check-blobs, and have the next archive written with --receipt and the receipt of that run"
	}
	if e.missing {
		return "mend what the list names, or block images that are not needed with mirror.blockedImages, and run again"
	}
	return "mend what the list names and run again"
}

func (e *partialError) Unwrap() []error { return e.reasons }

// everything is "the image is" or "all 3 images are".
func everything(n int) string {
	if n == 1 {
		return "the image is"
	}
	return fmt.Sprintf("all %d images are", n)
}

// number is "1 image" or "2 images".
func number[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
