package mirror

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A Job copies a plan and excludes what cannot be copied: catalogs that name missing images are
// built again without the packages that name them.
type Job struct {
	requested *plan.Plan
	plan      *plan.Plan // requested, without what was excluded since
	reduce    Reduce
	kept      map[string]string // why catalogs with missing images were not built again, by name
}

// A Reduce returns a plan without the packages whose images are missing, as build.Reduce of package pkg/plan/build does.
type Reduce func(ctx context.Context, p *plan.Plan) (*plan.Reduced, error)

// NewJob returns the job of copying p. Packages that name images which p already misses are
// excluded at once. If reduce is nil, only files are ever excluded.
func NewJob(ctx context.Context, p *plan.Plan, reduce Reduce) (*Job, error) {
	j := &Job{requested: p, plan: p, reduce: reduce, kept: map[string]string{}}
	if reduce != nil && len(p.Missing) > 0 {
		_, err := j.exclude(ctx, p)
		return j, err
	}
	return j, nil
}

// Plan returns the plan without what was excluded so far.
func (j *Job) Plan() *plan.Plan { return j.plan }

// Requested returns the plan that the job was made for.
func (j *Job) Requested() *plan.Plan { return j.requested }

// Run calls once to copy the plan. Files whose content has another digest count as missing at the source,
// so that an archive or a layout is complete without them. As long as images fail and what names them can be excluded, it
// calls once again with what is left to do: with carried, which is for archives and layouts, the
// whole remaining plan; for a registry, only the catalogs. The report covers all calls, and
// everything in the requested plan.
func (j *Job) Run(ctx context.Context, carried bool, once func(ctx context.Context, part *plan.Plan) (*Report, error)) (*Report, error) {
	report, err := once(ctx, j.plan)
	for err == nil {
		lost := j.lost(report, carried)
		if len(lost) == 0 {
			break
		}
		var part *plan.Plan
		if part, err = j.remainder(ctx, lost, carried); err != nil || part == nil {
			break
		}
		var next *Report
		next, err = once(ctx, part)
		report = report.then(next, part, carried)
		if !carried {
			break
		}
	}
	j.completeReport(report)
	return report, err
}

// exclude makes p, without the packages whose images are missing, the plan. It returns the names of
// the catalogs that were built again.
func (j *Job) exclude(ctx context.Context, p *plan.Plan) ([]string, error) {
	r, err := j.reduce(ctx, p)
	if err != nil {
		return nil, err
	}
	j.plan = r.Plan
	maps.Copy(j.kept, r.NotReduced)
	return r.Catalogs, nil
}

// remainder removes lost images from the plan and returns what is to be copied now, nil if nothing.
func (j *Job) remainder(ctx context.Context, lost []plan.FailedImage, carried bool) (*plan.Plan, error) {
	left, err := j.plan.Without(lost)
	if err != nil || len(left.Images) == 0 {
		return nil, err
	}
	before := j.plan
	if j.reduce == nil {
		j.plan = left
		return left, nil
	}
	catalogs, err := j.exclude(ctx, left)
	switch {
	case err != nil:
		return nil, err
	case carried:
		return j.plan, nil
	case len(catalogs) == 0:
		j.plan = before // everything that is left was copied
		return nil, nil
	}
	return j.plan.OnlyCatalogs(catalogs)
}

// lost returns the images that failed and that can be excluded. Without a Reduce, these are files with another
// checksum, if nothing else failed: an archive or a layout is written without them.
func (j *Job) lost(report *Report, carried bool) []plan.FailedImage {
	if j.reduce != nil {
		return lostImages(j.plan, report, carried)
	}
	if !carried || !report.Unfinished {
		return nil
	}
	lost := lostImages(j.plan, report, true)
	for _, l := range lost {
		if !plan.IsFileSource(l.Source) || !errors.Is(l.Err, remote.ErrMismatch) {
			return nil
		}
	}
	return lost
}

// lostImages returns the images of the plan that failed. Without publishables, it omits the images
// of catalogs and releases: a registry keeps the old one if no newer one was pushed.
func lostImages(p *plan.Plan, report *Report, publishables bool) []plan.FailedImage {
	type imageKey struct{ source, repository string }
	failed := map[imageKey]error{}
	for _, f := range report.Failed {
		failed[imageKey{f.Source, f.Repository}] = f.Err
	}
	var lost []plan.FailedImage
	for _, img := range p.Images {
		_, whole := img.Publishable()
		if err := failed[imageKey{img.Source, img.Repository}]; err != nil && (publishables || !whole) {
			lost = append(lost, plan.FailedImage{Source: img.Source, Repository: img.Repository, Err: err})
		}
	}
	return lost
}

// completeReport adds to a report what the requested plan has and the copied one does not.
func (j *Job) completeReport(report *Report) {
	report.Images = len(j.requested.Images) + len(j.requested.Missing)
	reported := map[string]bool{}
	for _, f := range report.Failed {
		reported[f.Source] = true
	}
	for _, m := range j.requested.Missing {
		if !reported[m.Source] {
			report.Failed = append(report.Failed, Failure{Source: m.Source, Reason: m.Message, Err: m.Err()})
		}
	}
	if j.plan != j.requested {
		elements.Sort(report.Failed, func(a, b Failure) int { return strings.Compare(a.Source, b.Source) })
	}
	for i := range report.Withheld {
		report.Withheld[i].Reason = j.kept[report.Withheld[i].Catalog]
	}
	type part struct{ catalog, pkg string }
	before := map[part]bool{}
	for _, c := range j.requested.Catalogs {
		for _, l := range c.Excluded {
			before[part{c.Name(), l.Package}] = true
		}
	}
	for _, c := range j.plan.Catalogs {
		for _, l := range c.Excluded {
			if !before[part{c.Name(), l.Package}] {
				report.Excluded = append(report.Excluded, Excluded{Catalog: c.Name(), Package: l.Package, Missing: l.Images})
			}
		}
	}
}
