package gantry

import (
	"context"
	"errors"
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
	// catalogs reads the catalogs of the plan.
	catalogs image.Reader
	// again is called before the rest of a plan is copied without packages whose images are missing. Nil does
	// nothing.
	again func(ctx context.Context, part *plan.Plan) error
	// announce is called before the first push to a registry. Nil does nothing.
	announce func(ctx context.Context)
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
	j.catalogs = from.Images
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
		if total != nil && j.again != nil {
			if err := j.again(ctx, part); err != nil {
				return &mirror.Report{}, err
			}
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

// copyOptions are options of one copy.
type copyOptions struct {
	// stopOnError ends the copy with the first image that fails.
	stopOnError bool
	// repair copies only what is missing in the registry, and found receives that.
	repair bool
	found  func([]mirror.MissingImage)
	// windows are the times of the day at which it copies.
	windows []string
	// tagUntagged gives tags to the manifests in a registry that have none.
	tagUntagged bool
}

// copy runs a job, and keeps the journal of a registry. Before and after, it cancels the uploads
// that a killed run left open, and those that could not be cancelled during the run.
func (s *Session) copy(ctx context.Context, j *job, o copyOptions) (*mirror.Report, *Transfer, error) {
	e := s.env
	streams, err := e.Streams()
	if err != nil {
		return nil, nil, err
	}
	gate, err := e.windowGate(o.windows)
	if err != nil {
		return nil, nil, err
	}
	opts := mirror.Options{Streams: streams, Fatal: Fatal, StopOnError: o.stopOnError, Repair: o.repair, Found: o.found, Log: e.logger()}
	if gate != nil {
		opts.Wait = gate.Wait
	}
	finish := func(bool) error { return nil }
	if r := j.to.Registry(); r != nil {
		if opts.KnownTags, err = s.knownTags(r, j.Plan().Name); err != nil {
			return nil, nil, err
		}
		journal, err := s.Journal(r.Key())
		if err != nil {
			return nil, nil, err
		}
		uploads, err := s.Uploads(r.Key())
		if err != nil {
			return nil, nil, errors.Join(err, journal.Done(false))
		}
		if err := assumePushed(r, j.Plan(), uploads, journal); err != nil {
			return nil, nil, errors.Join(err, journal.Done(false), uploads.Close())
		}
		e.cancelUploads(ctx, r.Client, uploads)
		r.Client.LogSessions(uploads)
		opts.BeforePush = j.announce
		opts.Journal, finish = journal, func(finished bool) error {
			e.cancelUploads(ctx, r.Client, uploads)
			return errors.Join(journal.Done(finished), uploads.Close())
		}
	}
	report, took, err := e.runJob(ctx, j, opts)
	if err == nil && o.tagUntagged {
		err = j.to.Registry().tagUntagged(ctx, j.Plan())
	}
	return report, took, errors.Join(err, finish(err == nil && report.Complete()))
}
