package extract

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// Options says what Images extracts, and where to.
type Options struct {
	open.Options
	// Images selects images by name (repository or repository:tag), digest or source. * matches any
	// text, ? one character. The default is all.
	Images []string
	// To is the folder of the OCI image layout. It is created if it does not exist.
	To string
	// Bases are where content is read that the archive omits, or that its deltas are based on:
	// docker://HOST[:PORT][/PREFIX], oci://DIR, or file://DIR for the folder of an earlier archive.
	// MaxNestedPaths is the one of the mirror.
	Bases          []string
	MaxNestedPaths int
}

// Check returns an error if a required option is missing. Images calls it.
func (o *Options) Check() error {
	if o.To == "" {
		return env.InputHint("name a folder with Options.To", "there is no folder for the images")
	}
	return nil
}

// Extracted is the result of Images. Its JSON is what gantry archive extract --output json prints.
type Extracted struct {
	Version int    `json:"version"`
	To      string `json:"to"`
	// Images are the names of the images that the layout has now: "repository:tag".
	Images []string       `json:"images"`
	Report *mirror.Report `json:"report"`
	// Count is the number of images; an image may have several names.
	Count    int               `json:"-"`
	Transfer *copying.Transfer `json:"-"`
}

// Images writes images of an archive to the OCI image layout in a folder. Other images of the
// layout stay. If images could not be read, they are not in the index of the layout, and the result and
// an error of kind Partial are returned.
func Images(ctx context.Context, o Options) (*Extracted, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if err := o.Check(); err != nil {
		return nil, err
	}
	bases, err := o.openBases(e)
	if err != nil {
		return nil, err
	}
	have, err := open.Archive(o.Options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = have.Close() }() // only read from
	open.Observe(e.Observer, have)
	p, err := airgap.OpenedPlan(ctx, have)
	if err != nil {
		return nil, err
	}
	source, err := bases.source(have, p)
	if err != nil {
		return nil, err
	}
	if p, err = airgap.PickImages(p, o.Images); err != nil {
		return nil, err
	}
	if err := have.CheckTempDir(mirror.Content(p)); err != nil {
		return nil, err
	}
	return extractImages(ctx, e, source, p, o.To)
}

// extractImages writes the images of a plan to the layout in a folder.
func extractImages(ctx context.Context, e *env.Env, have image.Reader, p *plan.Plan, dir string) (result *Extracted, err error) {
	if err := site.CheckLayoutSpace(have, p, dir); err != nil {
		return nil, err
	}
	l, err := layout.Create(dir, layout.Options{})
	if err != nil {
		return nil, env.Inputf("Options.To: %w", err)
	}
	lock, err := l.Lock()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	destination, meter := mirror.NewLayoutDestination(l), &mirror.Meter{}
	end := copying.ObserveCopy(e, p, &site.LayoutDestination{Dir: dir, Keep: true}, meter)
	report, err := mirror.Run(ctx, p, have, destination, mirror.Options{Fatal: site.Fatal, Meter: meter, Log: e.Logger()})
	result = &Extracted{Version: 1, To: dir, Images: []string{}, Report: report, Transfer: end()}
	if err != nil {
		return nil, fmt.Errorf("writing to %s: %w", dir, err)
	}
	complete := slices.DeleteFunc(slices.Clone(p.Images), func(img plan.Image) bool {
		return slices.ContainsFunc(report.Failed, func(f mirror.Failure) bool { return f.Source == img.Source && f.Repository == img.Repository })
	})
	result.Count = len(complete)
	if len(complete) > 0 {
		part, err := p.OnlyImages(complete)
		if err == nil {
			err = destination.Add(ctx, part)
		}
		if err != nil {
			return nil, fmt.Errorf("writing to %s: %w", dir, err)
		}
	}
	for _, img := range complete {
		result.Images = append(result.Images, img.Names()...)
	}
	if len(report.Failed) > 0 {
		return result, newExtractError(report)
	}
	return result, nil
}

// An extractError is the error for images that could not be extracted.
type extractError struct {
	failed  int
	reasons []error
}

func newExtractError(report *mirror.Report) *extractError {
	e := &extractError{failed: len(report.Failed)}
	for _, f := range report.Failed {
		if f.Err != nil {
			e.reasons = append(e.reasons, f.Err)
		}
	}
	return e
}

func (e *extractError) Error() string {
	return env.Number(e.failed, "image is", "images are") + " not extracted"
}

// Advice returns advice.Partial and the remedy.
func (e *extractError) Advice() (advice.Kind, string) {
	hint := "name all folders of the archive; if content is damaged or lost, run gantry archive repair-request"
	if slices.ContainsFunc(e.reasons, func(err error) bool {
		var failed *archive.DeltaError
		return errors.As(err, &failed) && failed.MissingBase || errors.Is(err, fs.ErrNotExist)
	}) {
		hint = "name the folders of the archives before it, too, or what has their content with ExtractOptions.Bases, such as the mirror; if content is damaged or lost, run gantry archive repair-request"
	}
	return advice.Partial, hint
}

// Unwrap returns the reasons.
func (e *extractError) Unwrap() []error { return e.reasons }
