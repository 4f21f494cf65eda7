package gantry

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/plan"
)

// What a run does when images are unavailable.
const (
	// OnErrorContinue copies everything else, and does not publish what names such an image.
	OnErrorContinue = "continue"
	// OnErrorPackage also builds catalogs without the packages that name such an image.
	OnErrorPackage = "package"
	// OnErrorStop ends the run.
	OnErrorStop = "stop"
)

// OnErrors returns the values of MirrorOptions.OnError.
func OnErrors() []string { return []string{OnErrorStop, OnErrorContinue, OnErrorPackage} }

// A PartialError is the error of a run that could not copy some content, which its result lists. It
// wraps the causes, since a cause such as a damaged volume has a kind of its own.
type PartialError struct {
	failed, withheld, excluded int
	releases                   int    // of those that are withheld
	planned                    bool   // nothing was copied
	missing                    bool   // some images were already missing when the plan was made
	files                      int    // how many of them are files, which nothing blocks
	buildsOn                   bool   // the source is an archive that omits content
	excludable                 bool   // OnErrorPackage would publish catalogs that are withheld
	request                    string // the file of a repair request, or ""
	reasons                    []error
}

// newPartialError returns the error of a run with MirrorOptions.OnError onError.
func newPartialError(report *mirror.Report, onError string) *PartialError {
	e := &PartialError{failed: len(report.Failed), withheld: len(report.Withheld), excluded: len(report.Excluded)}
	for _, x := range report.Withheld {
		if x.Release != "" {
			e.releases++
		}
	}
	e.excludable = e.withheld > e.releases && onError != OnErrorPackage
	for _, f := range report.Failed {
		file := plan.IsFileSource(f.Source)
		if file {
			e.files++
		}
		e.missing = e.missing || f.Repository == "" && !file
		if f.Err != nil {
			e.reasons = append(e.reasons, f.Err)
		}
	}
	return e
}

// of adds the archive that was read, nil if there is none, and the file of the repair request for it.
func (e *PartialError) of(have *archive.Archive, request string) *PartialError {
	e.buildsOn, e.request = have != nil && len(have.Selected().BuildsOn) > 0, request
	return e
}

// newPlannedError returns the error of a plan that misses images and was not copied.
func newPlannedError(p *plan.Plan, onError string) *PartialError {
	names := func(w plan.Publishable) bool { return w.Catalog != "" }
	e := &PartialError{failed: len(p.Missing), planned: true, excludable: onError != OnErrorPackage && slices.ContainsFunc(namesMissing(p), names)}
	for _, m := range p.Missing {
		if plan.IsFileSource(m.Source) {
			e.files++
		} else {
			e.missing = true
		}
	}
	return e
}

// Error returns how much is missing.
func (e *PartialError) Error() string {
	if e.planned {
		return e.what() + " missing at the source"
	}
	s := e.what() + " not mirrored"
	if e.excluded > 0 {
		s += ", " + number(e.excluded, "package is", "packages are") + " excluded"
	}
	if n := e.withheld - e.releases; n > 0 {
		s += ", " + number(n, "catalog is", "catalogs are") + " withheld"
	}
	if e.releases > 0 {
		s += ", " + number(e.releases, "release is", "releases are") + " withheld"
	}
	return s + "; the rest is consistent"
}

// what returns "2 images are", "1 file is" or "2 images and 1 file are".
func (e *PartialError) what() string {
	switch images := e.failed - e.files; {
	case e.files == 0:
		return number(e.failed, "image is", "images are")
	case images == 0:
		return number(e.files, "file is", "files are")
	default:
		return number(images, "image", "images") + " and " + number(e.files, "file", "files") + " are"
	}
}

// Advice returns advice.Partial and the remedy.
func (e *PartialError) Advice() (advice.Kind, string) {
	if e.request != "" {
		return advice.Partial, "bring " + e.request + " to the connected side, write what it requests with Options.Repair, and run again with that archive in Options.From, too"
	}
	if e.buildsOn && slices.ContainsFunc(e.reasons, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }) {
		return advice.Partial, "add the listed archives to Options.From; or run again with Options.CheckBlobs, and write the next archive with Options.Receipts and the receipt of that run"
	}
	hint := "fix the listed problems"
	if e.missing {
		hint += ", or block images that are not needed with mirror.blockedImages"
	}
	if e.files > 0 {
		hint += ", or remove files that are not needed from mirror.files and mirror.platform.tools.bootImages"
	}
	switch {
	case e.planned:
	case e.missing || e.files > 0:
		hint += ", and run again"
	default:
		hint += " and run again"
	}
	if e.excludable {
		hint += "; to publish catalogs without the packages that name these images, mirror with Options.OnError " + OnErrorPackage
	}
	return advice.Partial, hint
}

// Unwrap returns the reasons.
func (e *PartialError) Unwrap() []error { return e.reasons }

// number returns "1 image" or "2 images".
func number[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
