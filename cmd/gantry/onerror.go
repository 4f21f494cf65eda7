package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
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

// A job is a plan on its way to a target.
type job struct {
	*app
	onError string
	asked   *plan.Plan // what was asked for
	plan    *plan.Plan // the same, less what was left out since
	from    plan.From  // where catalogs are built again
	source  mirror.Source
	target  target
	opts    mirror.Options
	kept    map[string]string // why catalogs that lack images were not built again
}

// newJob is the job of a plan; have is the archive that it is read from, nil
// where it is read from its sources. Packages that name images which the plan
// misses are left out at once, where that is asked for.
func (a *app) newJob(ctx context.Context, onError string, p *plan.Plan, s *session, have *archive.Archive) (*job, error) {
	j := &job{app: a, onError: onError, asked: p, plan: p, from: s.from(), source: s.origin, kept: map[string]string{}}
	if have != nil {
		o := &overlay{Archive: have, session: s}
		j.source, j.from.Images = o, o.planning()
	}
	if onError == onErrorPackage && len(p.Missing) > 0 {
		_, err := j.reduce(ctx, p)
		return j, err
	}
	return j, nil
}

// reduce makes the plan one without the packages whose images p misses. It
// returns the catalogs that were built again.
func (j *job) reduce(ctx context.Context, p *plan.Plan) ([]string, error) {
	r, err := plan.Reduce(ctx, p, j.from)
	if err != nil {
		return nil, err
	}
	j.plan = r.Plan
	for name, reason := range r.Kept {
		j.kept[name] = reason
	}
	return r.Catalogs, nil
}

// run carries the plan out. With --on-error package it goes on with less where
// images fail: a registry gets the catalogs that are left, an archive or a
// layout all that is left.
func (j *job) run(ctx context.Context) (*mirror.Report, *transfer, error) {
	report, took, err := j.once(ctx, j.plan)
	for err == nil && j.onError == onErrorPackage {
		carried := j.target.registry() == nil
		lost := lostOf(j.plan, report, carried)
		if len(lost) == 0 {
			break
		}
		var part *plan.Plan
		if part, err = j.without(ctx, lost, carried); err != nil || part == nil {
			break
		}
		var next *mirror.Report
		var tookNext *transfer
		next, tookNext, err = j.once(ctx, part)
		report, took = report.Then(next, part, carried), took.then(tookNext, carried)
		if !carried {
			break
		}
	}
	return j.complete(report), took, err
}

// once is one run of a part of the plan, with progress.
func (j *job) once(ctx context.Context, part *plan.Plan) (*mirror.Report, *transfer, error) {
	opts := j.opts
	opts.Meter = &mirror.Meter{}
	end := j.showCopy(part, j.target, opts.Meter)
	report, err := j.target.mirror(ctx, part, j.source, opts)
	return report, end(), err
}

// without takes what was lost out of the plan, and returns what is to be carried
// out now; nil where that is nothing.
func (j *job) without(ctx context.Context, lost []plan.Lost, carried bool) (*plan.Plan, error) {
	less, err := j.plan.Without(lost)
	if err != nil || len(less.Images) == 0 {
		return nil, err
	}
	before := j.plan
	catalogs, err := j.reduce(ctx, less)
	switch {
	case err != nil:
		return nil, err
	case carried:
		return j.plan, nil
	case len(catalogs) == 0:
		j.plan = before // all that is left was carried out
		return nil, nil
	}
	j.say("copying %s without packages whose images are missing", number(len(catalogs), "catalog", "catalogs"))
	return j.plan.Only(catalogs)
}

// lostOf are the images of the plan that failed. A registry keeps a catalog of
// which no newer image came.
func lostOf(p *plan.Plan, report *mirror.Report, catalogs bool) []plan.Lost {
	type place struct{ source, repository string }
	failed := map[place]error{}
	for _, f := range report.Failed {
		failed[place{f.Source, f.Repository}] = f.Err
	}
	var lost []plan.Lost
	for _, img := range p.Images {
		if err := failed[place{img.Source, img.Repository}]; err != nil && (catalogs || img.Kind != plan.CatalogImage) {
			lost = append(lost, plan.Lost{Source: img.Source, Repository: img.Repository, Err: err})
		}
	}
	return lost
}

// complete adds to a report what the plan that was carried out does not have and
// the one that was asked for has.
func (j *job) complete(report *mirror.Report) *mirror.Report {
	report.Images = len(j.asked.Images) + len(j.asked.Missing)
	told := map[string]bool{}
	for _, f := range report.Failed {
		told[f.Source] = true
	}
	for _, m := range j.asked.Missing {
		if !told[m.Source] {
			report.Failed = append(report.Failed, mirror.Failure{Source: m.Source, Reason: m.Reason, Err: m.Err()})
		}
	}
	if j.plan != j.asked {
		slices.SortStableFunc(report.Failed, func(a, b mirror.Failure) int { return strings.Compare(a.Source, b.Source) })
	}
	for i := range report.Held {
		report.Held[i].Reason = j.kept[report.Held[i].Catalog]
	}
	before := map[string]bool{}
	for _, c := range j.asked.Catalogs {
		for _, l := range c.LeftOut {
			before[c.Name()+"\n"+l.Package] = true
		}
	}
	for _, c := range j.plan.Catalogs {
		for _, l := range c.LeftOut {
			if !before[c.Name()+"\n"+l.Package] {
				report.LeftOut = append(report.LeftOut, mirror.LeftOut{Catalog: c.Name(), Package: l.Package, Missing: l.Images})
			}
		}
	}
	return report
}

// gaps reports whether a catalog of the plan names images that the plan misses,
// so that it is held back wherever the plan is mirrored to.
func gaps(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Missing, func(m plan.Missing) bool {
		return slices.ContainsFunc(m.Because, func(b plan.Because) bool {
			return slices.ContainsFunc(p.Catalogs, func(c plan.Catalog) bool { return c.Name() == b.Catalog })
		})
	})
}

// An overlay reads an archive, and from the cache what was built in addition to
// it.
type overlay struct {
	*archive.Archive
	session *session
}

// built reports whether err says that the archive does not have what the cache
// has.
func (o *overlay) built(err error, d digest.Digest) bool {
	_, ok := o.session.cache.Size(d)
	return ok && errors.Is(err, fs.ErrNotExist)
}

// Manifest implements mirror.Source.
func (o *overlay) Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	desc, raw, err := o.Archive.Manifest(ctx, from, d)
	if err != nil && o.built(err, d) {
		return o.session.origin.Manifest(ctx, from, d)
	}
	return desc, raw, err
}

// Blob implements mirror.Source.
func (o *overlay) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := o.Archive.Blob(ctx, from, desc, offset)
	if err != nil && o.built(err, desc.Digest) {
		return o.session.origin.Blob(ctx, from, desc, offset)
	}
	return body, err
}

// planning is the overlay for building catalogs.
func (o *overlay) planning() plan.Images { return planningOverlay{o} }

type planningOverlay struct{ *overlay }

func (o planningOverlay) Blob(ctx context.Context, from string, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return o.overlay.Blob(ctx, from, desc, 0)
}
