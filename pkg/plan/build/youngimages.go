package build

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// missYoung makes additional images that are named by a tag missing if they are too young: a tag may be moved at
// any time. Images by digest were chosen, and rules for tags have a condition for the age.
func missYoung(ctx context.Context, found []resolvedImage, sources Sources, opts Options) error {
	if opts.youngest().IsZero() {
		return nil
	}
	return eachOf(ctx, len(found), opts.Jobs, func(ctx context.Context, i int) error {
		w := found[i].request
		if found[i].err != nil || w.kind != plan.AdditionalImage || !w.listed() {
			return nil //nolint:nilerr // found keeps the error
		}
		ref := w.ref()
		if ref.Digest != "" || ref.Path == "" {
			return nil
		}
		created, err := CreationTime(ctx, sources.Images, ref.Repository().WithDigest(found[i].digest).String())
		if err != nil {
			found[i].err = err
		} else if opts.tooYoung(created) {
			found[i].err = youngError(created, opts)
		}
		return nil
	})
}

// listed reports whether additionalImages names the image, and not a rule or a chart.
func (w *imageRequest) listed() bool {
	return slices.ContainsFunc(w.reasons, func(why plan.Reason) bool { return why.List == "additionalImages" && why.Rule == "" })
}

// youngError is the error of an image that is too young.
func youngError(created time.Time, opts Options) error {
	return advice.New(advice.Failure, "", "it was created on %s, and images must be at least %s old", day(created.UTC()), fmt.Sprintf("%d days", opts.MinAge))
}
