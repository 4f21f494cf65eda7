package copying

import (
	"context"
	"errors"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/window"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A Job is the copy of a plan from a source to a destination.
type Job struct {
	*mirror.Job
	Source image.Reader
	To     site.Destination
	// Catalogs reads the catalogs of the plan.
	Catalogs image.Reader
	// Again is called before the rest of a plan is copied without packages whose images are missing. Nil does
	// nothing.
	Again func(ctx context.Context, part *plan.Plan) error
	// Announce is called before the first push to a registry. Nil does nothing.
	Announce func(ctx context.Context)
}

// NewJob returns the job of a plan. have is the archive to read from, or nil to read from the
// sources of the plan.
func NewJob(ctx context.Context, onError string, p *plan.Plan, s *workspace.Session, have *archive.Archive, t site.Destination) (*Job, error) {
	j := &Job{Source: s.Sources.Origin, To: t}
	from := s.Sources.Plan()
	if have != nil {
		o := &mirror.Overlay{Source: have, Built: s.Sources.Origin, Has: func(d digest.Digest) bool {
			_, ok := s.Sources.Cache.Size(d)
			return ok
		}}
		planning := *o
		if r := t.Registry(); r != nil && len(have.Selected().BuildsOn) > 0 {
			planning.Source = airgap.SourceWithSite(have, &r.Site, p)
		}
		j.Source, from.Images = o, &planning
	}
	var reduce mirror.Reduce
	if onError == selection.OnErrorPackage {
		reduce = func(ctx context.Context, p *plan.Plan) (*plan.Reduced, error) { return build.Reduce(ctx, p, from) }
	}
	j.Catalogs = from.Images
	var err error
	j.Job, err = mirror.NewJob(ctx, p, reduce)
	return j, err
}

// runJob runs a job, and reports it to the observer.
func runJob(ctx context.Context, e *env.Env, j *Job, opts mirror.Options) (*mirror.Report, *Transfer, error) {
	toArchive := j.To.Registry() == nil
	var total *Transfer
	report, err := j.Run(ctx, toArchive, func(ctx context.Context, part *plan.Plan) (*mirror.Report, error) {
		if total != nil && !toArchive {
			e.Noticef("copying %s without packages whose images are missing", env.Number(len(part.Catalogs), "catalog", "catalogs"))
		}
		if total != nil && j.Again != nil {
			if err := j.Again(ctx, part); err != nil {
				return &mirror.Report{}, err
			}
		}
		opts.Meter = &mirror.Meter{}
		end := ObserveCopy(e, part, j.To, opts.Meter)
		report, err := j.To.Copy(ctx, part, j.Source, opts)
		total = total.then(end(), toArchive)
		return report, err
	})
	return report, total, err
}

// An Observer follows copies. The Observer of an Env may be one.
type Observer interface {
	// Copy begins to show the copy of a plan, or of a part of it, until end is called.
	Copy(c Copy) (end func())
}

// A Copy is a copy of a plan that has begun.
type Copy struct {
	Plan *plan.Plan
	// Meter counts what is copied. An Observer of single blobs and images may be set on it.
	Meter *mirror.Meter
	// Name returns what an image is called at the destination, or "" if it has no name there.
	Name func(result mirror.ImageResult) string
}

// ObserveCopy reports to the observer that a copy begins. end returns its duration and amounts.
func ObserveCopy(e *env.Env, p *plan.Plan, t site.Destination, m *mirror.Meter) (end func() *Transfer) {
	began, before := time.Now(), e.Hosts()
	stop := func() {}
	if o, ok := e.Observer.(Observer); ok {
		stop = o.Copy(Copy{Plan: p, Meter: m, Name: func(r mirror.ImageResult) string { return nameAt(t, r) }})
	}
	return func() *Transfer {
		stop()
		return newTransfer(m.Progress(), time.Since(began), before, e.Hosts())
	}
}

// nameAt returns the name of an image at a destination, or "" if it has none there.
func nameAt(t site.Destination, image mirror.ImageResult) string {
	tag := ""
	if len(image.Tags) > 0 {
		tag = image.Tags[0]
	}
	if r := t.Registry(); r != nil {
		ref, ok := r.Names[image.Repository]
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

// Rules say when and how content is copied, and what the destination is asked for before.
type Rules struct {
	// Window are the times of the day at which content is copied, in the local time zone. Outside of them, a run
	// waits, and resumes. The default is always.
	Window []window.Window
	// OnError is what to do when images are unavailable. The default is selection.OnErrorContinue.
	OnError string
	// CheckBlobs asks a registry for every blob, and reads every blob of a layout, and copies those
	// that are missing or damaged. The default requests some of them, different ones in each run. It also
	// requests all tags of signatures at the sources, and not one for each image.
	CheckBlobs bool
	// ReadBlobs is CheckBlobs that reads every manifest and blob of a registry, too, and compares it
	// with its digest.
	ReadBlobs bool
	// RepairMissing asks a registry for every manifest and blob, and copies nothing but what is missing.
	// With ReadBlobs, damaged content is replaced, too.
	RepairMissing bool
	// TagUntagged gives the manifests of the plan tags of their own, for garbage collection that deletes untagged ones.
	TagUntagged bool
}

// ChecksBlobs reports whether every blob at the destination is requested.
func (r *Rules) ChecksBlobs() bool { return r.CheckBlobs || r.ReadBlobs || r.RepairMissing }

// Options are options of one copy.
type Options struct {
	Rules
	// Found receives what RepairMissing finds, before anything is copied.
	Found func([]mirror.MissingImage)
}

// Run runs a job, and keeps the journal of a registry. Before and after, it cancels the uploads
// that a killed run left open, and those that could not be cancelled during the run.
func Run(ctx context.Context, s *workspace.Session, j *Job, o Options) (*mirror.Report, *Transfer, error) {
	e := s.Env
	streams, err := env.Streams(&e.Registries)
	if err != nil {
		return nil, nil, err
	}
	gate := windowGate(e, o.Window)
	opts := mirror.Options{Streams: streams, Fatal: site.Fatal, StopOnError: o.OnError == selection.OnErrorStop, Repair: o.RepairMissing, Found: o.Found, Log: e.Logger()}
	if gate != nil {
		opts.Wait = gate.Wait
	}
	finish := func(bool) error { return nil }
	if r := j.To.Registry(); r != nil {
		if opts.KnownTags, err = site.KnownTags(s, r, j.Plan().Name); err != nil {
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
		cancelUploads(ctx, e, r.Client, uploads)
		r.Client.LogSessions(uploads)
		opts.BeforePush = j.Announce
		opts.Journal, finish = journal, func(finished bool) error {
			cancelUploads(ctx, e, r.Client, uploads)
			return errors.Join(journal.Done(finished), uploads.Close())
		}
	}
	report, took, err := runJob(ctx, e, j, opts)
	if err == nil && o.TagUntagged {
		err = tagUntagged(ctx, j.To.Registry(), j.Plan())
	}
	return report, took, errors.Join(err, finish(err == nil && report.Complete()))
}
