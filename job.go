package gantry

import (
	"context"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/airgap"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/build"
)

// A job is the copy of a plan from a source to a destination.
type job struct {
	*mirror.Job
	source image.Reader
	to     Destination
}

// newJob returns the job of a plan. have is the archive to read from, or nil to read from the
// sources of the plan.
func newJob(ctx context.Context, onError string, p *plan.Plan, s *Session, have *archive.Archive, t Destination) (*job, error) {
	j := &job{source: s.sources.Origin, to: t}
	from := s.sources.Plan()
	if have != nil {
		o := &mirror.Overlay{Source: have, Built: s.sources.Origin, Has: func(d digest.Digest) bool {
			_, ok := s.sources.cache.Size(d)
			return ok
		}}
		planning := *o
		if r := t.Registry(); r != nil && len(have.Selected().BuildsOn) > 0 {
			planning.Source = airgap.SourceWithSite(have, &r.site, p)
		}
		j.source, from.Images = o, &planning
	}
	var reduce mirror.Reduce
	if onError == OnErrorPackage {
		reduce = func(ctx context.Context, p *plan.Plan) (*plan.Reduced, error) { return build.Reduce(ctx, p, from) }
	}
	var err error
	j.Job, err = mirror.NewJob(ctx, p, reduce)
	return j, err
}

// runJob runs a job, and reports it to the observer.
func (e *Env) runJob(ctx context.Context, j *job, opts mirror.Options) (*mirror.Report, *Transfer, error) {
	toArchive := j.to.Registry() == nil
	var total *Transfer
	report, err := j.Run(ctx, toArchive, func(ctx context.Context, part *plan.Plan) (*mirror.Report, error) {
		if total != nil && !toArchive {
			e.say("copying %s without packages whose images are missing", number(len(part.Catalogs), "catalog", "catalogs"))
		}
		opts.Meter = &mirror.Meter{}
		end := e.ObserveCopy(part, j.to, opts.Meter)
		report, err := j.to.Copy(ctx, part, j.source, opts)
		total = total.then(end(), toArchive)
		return report, err
	})
	return report, total, err
}

// ObserveCopy reports to the observer that a copy begins. end returns its duration and amounts.
func (e *Env) ObserveCopy(p *plan.Plan, t Destination, m *mirror.Meter) (end func() *Transfer) {
	began, before := time.Now(), e.hosts()
	stop := func() {}
	if e.Observer != nil {
		stop = e.Observer.Copy(Copy{Plan: p, Meter: m, Name: func(r mirror.ImageResult) string { return nameAt(t, r) }})
	}
	return func() *Transfer {
		stop()
		return newTransfer(m.Progress(), time.Since(began), before, e.hosts())
	}
}

// nameAt returns the name of an image at a destination, or "" if it has none there.
func nameAt(t Destination, image mirror.ImageResult) string {
	tag := ""
	if len(image.Tags) > 0 {
		tag = image.Tags[0]
	}
	if r := t.Registry(); r != nil {
		ref, ok := r.names[image.Repository]
		switch {
		case !ok:
			return ""
		case tag == "":
			return ref.WithDigest(image.Digest).String()
		}
		return ref.WithTag(tag).String()
	}
	if tag == "" {
		return image.Repository
	}
	return image.Repository + ":" + tag
}

// namesMissing returns the catalogs and releases of a plan that name missing images. They are
// withheld at every destination.
func namesMissing(p *plan.Plan) []plan.Publishable {
	var all []plan.Publishable
	for _, m := range p.Missing {
		for _, b := range m.Reasons {
			if w, ok := b.Publishable(); ok && !slices.Contains(all, w) && p.Has(w) {
				all = append(all, w)
			}
		}
	}
	return all
}
