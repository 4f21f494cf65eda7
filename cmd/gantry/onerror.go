package main

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/plan"
)

// What --on-error does when images cannot be had.
const (
	onErrorStop     = "stop"
	onErrorContinue = "continue"
	onErrorPackage  = "package"
)

func onErrors() []string { return []string{onErrorStop, onErrorContinue, onErrorPackage} }

// A job is a plan on its way from a source to a target.
type job struct {
	*mirror.Job
	source mirror.Source
	target target
}

// newJob is the job of a plan; have is the archive that it is read from, nil
// where it is read from its sources.
func newJob(ctx context.Context, onError string, p *plan.Plan, s *session, have *archive.Archive, t target) (*job, error) {
	j := &job{source: s.origin, target: t}
	from := s.from()
	if have != nil {
		o := &mirror.Overlay{Source: have, Built: s.origin, Has: func(d digest.Digest) bool {
			_, ok := s.cache.Size(d)
			return ok
		}}
		planning := *o
		if r := t.registry(); r != nil && len(have.Newest().BuildsOn) > 0 {
			planning.Source = carry.ReadBack(have, &r.site, p)
		}
		j.source, from.Images = o, planning.Planning()
	}
	var reduce mirror.Reduce
	if onError == onErrorPackage {
		reduce = func(ctx context.Context, p *plan.Plan) (*plan.Reduced, error) { return plan.Reduce(ctx, p, from) }
	}
	var err error
	j.Job, err = mirror.NewJob(ctx, p, reduce)
	return j, err
}

// runJob carries a job out, with progress.
func (a *app) runJob(ctx context.Context, j *job, opts mirror.Options) (*mirror.Report, *transfer, error) {
	carried := j.target.registry() == nil
	var took *transfer
	report, err := j.Run(ctx, carried, func(ctx context.Context, part *plan.Plan) (*mirror.Report, error) {
		if took != nil && !carried {
			a.say("copying %s without packages whose images are missing", number(len(part.Catalogs), "catalog", "catalogs"))
		}
		opts.Meter = &mirror.Meter{}
		end := a.showCopy(part, j.target, opts.Meter)
		report, err := j.target.mirror(ctx, part, j.source, opts)
		took = took.then(end(), carried)
		return report, err
	})
	return report, took, err
}

// gaps are the catalogs and releases of the plan that name images which it misses, so
// that they are held back wherever it is mirrored to.
func gaps(p *plan.Plan) []plan.Whole {
	var all []plan.Whole
	for _, m := range p.Missing {
		for _, b := range m.Because {
			if w, ok := b.Whole(); ok && !slices.Contains(all, w) && p.Has(w) {
				all = append(all, w)
			}
		}
	}
	return all
}
