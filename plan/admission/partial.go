package admission

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A PartialError is the error of a run that could not copy some content, which its result lists. It
// wraps the causes, since a cause such as a damaged volume has a kind of its own.
type PartialError struct {
	Failed, Withheld, excluded int
	Releases                   int    // of those that are withheld
	Planned                    bool   // nothing was copied
	missing                    bool   // some images were already missing when the plan was made
	Files                      int    // how many of them are files, which nothing blocks
	buildsOn                   bool   // the source is an archive that omits content
	excludable                 bool   // selection.OnErrorPackage would publish catalogs that are withheld
	request                    string // the file of a repair request, or ""
	Reasons                    []error
}

// NewPartialError returns the error of a run with copying.Rules.OnError onError.
func NewPartialError(report *mirror.Report, onError string) *PartialError {
	e := &PartialError{Failed: len(report.Failed), Withheld: len(report.Withheld), excluded: len(report.Excluded)}
	for _, x := range report.Withheld {
		if x.Release != "" {
			e.Releases++
		}
	}
	e.excludable = e.Withheld > e.Releases && onError != selection.OnErrorPackage
	for _, f := range report.Failed {
		file := plan.IsFileSource(f.Source)
		if file {
			e.Files++
		}
		e.missing = e.missing || f.Repository == "" && !file
		if f.Err != nil {
			e.Reasons = append(e.Reasons, f.Err)
		}
	}
	return e
}

// Of adds the archive that was read, nil if there is none, and the file of the repair request for it.
func (e *PartialError) Of(have *archive.Archive, request string) *PartialError {
	e.buildsOn, e.request = have != nil && len(have.Selected().BuildsOn) > 0, request
	return e
}

// NewPlannedError returns the error of a plan that misses images and was not copied.
func NewPlannedError(p *plan.Plan, onError string) *PartialError {
	names := func(w plan.Publishable) bool { return w.Catalog != "" }
	e := &PartialError{Failed: len(p.Missing), Planned: true, excludable: onError != selection.OnErrorPackage && slices.ContainsFunc(site.NamesMissing(p), names)}
	for _, m := range p.Missing {
		if plan.IsFileSource(m.Source) {
			e.Files++
		} else {
			e.missing = true
		}
	}
	return e
}

// Error returns how much is missing.
func (e *PartialError) Error() string {
	if e.Planned {
		return e.what() + " missing at the source"
	}
	s := e.what() + " not mirrored"
	if e.excluded > 0 {
		s += ", " + env.Number(e.excluded, "package is", "packages are") + " excluded"
	}
	if n := e.Withheld - e.Releases; n > 0 {
		s += ", " + env.Number(n, "catalog is", "catalogs are") + " withheld"
	}
	if e.Releases > 0 {
		s += ", " + env.Number(e.Releases, "release is", "releases are") + " withheld"
	}
	return s + "; the rest is consistent"
}

// what returns "2 images are", "1 file is" or "2 images and 1 file are".
func (e *PartialError) what() string {
	switch images := e.Failed - e.Files; {
	case e.Files == 0:
		return env.Number(e.Failed, "image is", "images are")
	case images == 0:
		return env.Number(e.Files, "file is", "files are")
	default:
		return env.Number(images, "image", "images") + " and " + env.Number(e.Files, "file", "files") + " are"
	}
}

// Advice returns advice.Partial and the remedy.
func (e *PartialError) Advice() (advice.Kind, string) {
	if e.request != "" {
		return advice.Partial, "bring " + e.request + " to the connected side, write what it requests with Options.Repair, and run again with that archive in Options.From, too"
	}
	if e.buildsOn && slices.ContainsFunc(e.Reasons, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }) {
		return advice.Partial, "add the listed archives to Options.From; or run again with Options.CheckBlobs, and write the next archive with Options.Receipts and the receipt of that run"
	}
	hint := "fix the listed problems"
	if e.missing {
		hint += ", or block images that are not needed with mirror.blockedImages"
	}
	if e.Files > 0 {
		hint += ", or remove files that are not needed from mirror.files and mirror.platform.tools.bootImages"
	}
	switch {
	case e.Planned:
	case e.missing || e.Files > 0:
		hint += ", and run again"
	default:
		hint += " and run again"
	}
	if e.excludable {
		hint += "; to publish catalogs without the packages that name these images, mirror with Options.OnError " + selection.OnErrorPackage
	}
	return advice.Partial, hint
}

// Unwrap returns the reasons.
func (e *PartialError) Unwrap() []error { return e.Reasons }
