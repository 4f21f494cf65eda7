package mirror

import (
	"context"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/plan"
)

// A Job is a plan that is carried out with less where images cannot be had: the
// catalogs that name them are built again without the packages that do.
type Job struct {
	asked  *plan.Plan
	plan   *plan.Plan // asked, less what was left out since
	reduce Reduce
	kept   map[string]string // why catalogs that lack images were not built again
}

// A Reduce makes of a plan one without the packages whose images it misses, as
// plan.Reduce does.
type Reduce func(ctx context.Context, p *plan.Plan) (*plan.Reduced, error)

// NewJob is the job of carrying p out. What names images that p misses already is
// left out at once. Where reduce is nil, nothing is ever left out.
func NewJob(ctx context.Context, p *plan.Plan, reduce Reduce) (*Job, error) {
	j := &Job{asked: p, plan: p, reduce: reduce, kept: map[string]string{}}
	if reduce != nil && len(p.Missing) > 0 {
		_, err := j.less(ctx, p)
		return j, err
	}
	return j, nil
}

// Plan is what is left to carry out.
func (j *Job) Plan() *plan.Plan { return j.plan }

// Asked is what the job was made for.
func (j *Job) Asked() *plan.Plan { return j.asked }

// Run lets once carry out the plan and, while images of it fail and what names
// them can be left out, what that leaves to be done: all that is left at a sink
// that is carried, the catalogs alone at a registry. The report is of all of it
// and of what the job was made for.
func (j *Job) Run(ctx context.Context, carried bool, once func(ctx context.Context, part *plan.Plan) (*Report, error)) (*Report, error) {
	report, err := once(ctx, j.plan)
	for err == nil && j.reduce != nil {
		lost := lostOf(j.plan, report, carried)
		if len(lost) == 0 {
			break
		}
		var part *plan.Plan
		if part, err = j.without(ctx, lost, carried); err != nil || part == nil {
			break
		}
		var next *Report
		next, err = once(ctx, part)
		report = report.then(next, part, carried)
		if !carried {
			break
		}
	}
	j.complete(report)
	return report, err
}

// less makes p, without the packages whose images it misses, the plan. It returns
// the names of the catalogs that were built again.
func (j *Job) less(ctx context.Context, p *plan.Plan) ([]string, error) {
	r, err := j.reduce(ctx, p)
	if err != nil {
		return nil, err
	}
	j.plan = r.Plan
	for name, reason := range r.Kept {
		j.kept[name] = reason
	}
	return r.Catalogs, nil
}

// without takes what was lost out of the plan, and returns what is to be carried
// out now; nil where that is nothing.
func (j *Job) without(ctx context.Context, lost []plan.Lost, carried bool) (*plan.Plan, error) {
	left, err := j.plan.Without(lost)
	if err != nil || len(left.Images) == 0 {
		return nil, err
	}
	before := j.plan
	catalogs, err := j.less(ctx, left)
	switch {
	case err != nil:
		return nil, err
	case carried:
		return j.plan, nil
	case len(catalogs) == 0:
		j.plan = before // all that is left was carried out
		return nil, nil
	}
	return j.plan.Only(catalogs)
}

// lostOf are the images of the plan that failed. A registry keeps a catalog or a
// release of which no newer image came.
func lostOf(p *plan.Plan, report *Report, wholes bool) []plan.Lost {
	type place struct{ source, repository string }
	failed := map[place]error{}
	for _, f := range report.Failed {
		failed[place{f.Source, f.Repository}] = f.Err
	}
	var lost []plan.Lost
	for _, img := range p.Images {
		_, whole := img.Whole()
		if err := failed[place{img.Source, img.Repository}]; err != nil && (wholes || !whole) {
			lost = append(lost, plan.Lost{Source: img.Source, Repository: img.Repository, Err: err})
		}
	}
	return lost
}

// complete adds to a report what the plan that was carried out does not have and
// the one that was asked for has.
func (j *Job) complete(report *Report) {
	report.Images = len(j.asked.Images) + len(j.asked.Missing)
	told := map[string]bool{}
	for _, f := range report.Failed {
		told[f.Source] = true
	}
	for _, m := range j.asked.Missing {
		if !told[m.Source] {
			report.Failed = append(report.Failed, Failure{Source: m.Source, Reason: m.Reason, Err: m.Err()})
		}
	}
	if j.plan != j.asked {
		slices.SortStableFunc(report.Failed, func(a, b Failure) int { return strings.Compare(a.Source, b.Source) })
	}
	for i := range report.Held {
		report.Held[i].Reason = j.kept[report.Held[i].Catalog]
	}
	type part struct{ catalog, pkg string }
	before := map[part]bool{}
	for _, c := range j.asked.Catalogs {
		for _, l := range c.LeftOut {
			before[part{c.Name(), l.Package}] = true
		}
	}
	for _, c := range j.plan.Catalogs {
		for _, l := range c.LeftOut {
			if !before[part{c.Name(), l.Package}] {
				report.LeftOut = append(report.LeftOut, LeftOut{Catalog: c.Name(), Package: l.Package, Missing: l.Images})
			}
		}
	}
}
