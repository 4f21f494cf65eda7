package prune

import (
	"context"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"
)

// A Report is what Execute did.
type Report struct {
	// Tags and Manifests are how many were deleted, and Bytes the size of what nothing refers to now.
	Tags      int   `json:"tags"`
	Manifests int   `json:"manifests"`
	Bytes     int64 `json:"bytes"`
	// Failed is what could not be deleted.
	Failed []Failure `json:"failed,omitempty"`
}

// A Failure is a manifest, tag or list of referrers that could not be deleted. Digest is the one of the subject for a list.
type Failure struct {
	Repository string        `json:"repository"`
	Digest     digest.Digest `json:"digest"`
	Tag        string        `json:"tag,omitempty"`
	Message    string        `json:"message"`
	LastWanted Revision      `json:"lastWantedBy"`

	// Err is the error that Message was made from. It is nil in a report that was read back.
	Err error `json:"-"`
}

// AddFormerKeys adds the deprecated keys that earlier versions print.
func (r *Report) AddFormerKeys() {
	for i := range r.Failed {
		r.Failed[i].LastWanted.Turn = r.Failed[i].LastWanted.Number
	}
}

// An execution is what Execute is doing.
type execution struct {
	Options
	registry Deleter
	all      int

	mu     sync.Mutex
	done   int
	failed map[string]bool // repositories
	report Report
}

// Execute deletes what a plan lists, tags without their manifests only if the registry can do that
// (deleteTags). If something cannot be deleted, what it refers to in the same repository stays, and the
// rest is deleted; if that is a published catalog or release, everything stays. See Report.Failed. The error is
// one that is fatal, or the one of ctx; the report is what was done until then.
func Execute(ctx context.Context, p *DeletionPlan, registry Deleter, deleteTags bool, o Options) (*Report, error) {
	e := &execution{Options: o, registry: registry, all: len(p.Tags) + len(p.Manifests) + len(p.Lists), failed: map[string]bool{}}
	err := e.run(ctx, p, deleteTags)
	report := e.report
	return &report, err
}

func (e *execution) run(ctx context.Context, p *DeletionPlan, deleteTags bool) error {
	if deleteTags {
		err := each(ctx, e.streams(), len(p.Tags), func(ctx context.Context, i int) error {
			t := &p.Tags[i]
			done := Report{}
			return e.delete(Failure{Repository: t.Repository, Digest: t.Digest, Tag: t.Tag, LastWanted: t.LastWanted}, &done, func() error {
				deleted, err := e.registry.DeleteTag(ctx, t.Repository, t.Tag, t.Digest)
				if deleted {
					done.Tags = 1
				}
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	listed, published := false, false // whether a catalog or release could not be deleted, which names other images
	for rest := p.Manifests; len(rest) > 0 || !listed; {
		if !listed && (len(rest) == 0 || rest[0].Step >= attachmentStep) {
			listed = true
			err := each(ctx, e.streams(), len(p.Lists), func(ctx context.Context, i int) error {
				l := &p.Lists[i]
				return e.delete(Failure{Repository: l.Repository, Digest: l.Subject}, &Report{},
					func() error { return e.registry.Unlist(ctx, l.Repository, l.Subject, l.Remove) })
			})
			if err != nil {
				return err
			}
			continue
		}
		n := 1
		for n < len(rest) && rest[n].Step == rest[0].Step {
			n++
		}
		step := rest[:n]
		rest = rest[n:]
		stopped := map[string]bool{}
		e.mu.Lock()
		for repository := range e.failed {
			stopped[repository] = true
		}
		e.mu.Unlock()
		err := each(ctx, e.streams(), n, func(ctx context.Context, i int) error {
			m := &step[i]
			return e.delete(Failure{Repository: m.Repository, Digest: m.Digest, LastWanted: m.LastWanted}, &Report{Tags: len(m.Tags), Manifests: 1, Bytes: m.Bytes}, func() error {
				if published || stopped[m.Repository] {
					return errStopped
				}
				if e.TagsFirst {
					if err := e.deleteTagsOf(ctx, m); err != nil {
						return err
					}
				}
				deleted, err := e.registry.DeleteManifest(ctx, m.Repository, m.Digest)
				if err == nil && !deleted && deleteTags {
					err = e.deleteTagsOf(ctx, m)
				}
				return err
			})
		})
		if err != nil {
			return err
		}
		e.mu.Lock()
		published = published || step[0].Step == publishedStep && slices.ContainsFunc(e.report.Failed, func(f Failure) bool {
			return slices.ContainsFunc(step, func(m Manifest) bool { return m.Repository == f.Repository && m.Digest == f.Digest })
		})
		e.mu.Unlock()
	}
	return nil
}

// deleteTagsOf deletes the tags of a manifest. A registry that is interrupted while it deletes a manifest may
// leave them, and some always do.
func (e *execution) deleteTagsOf(ctx context.Context, m *Manifest) error {
	for _, tag := range m.Tags {
		if _, err := e.registry.DeleteTag(ctx, m.Repository, tag, m.Digest); err != nil {
			return err
		}
	}
	return nil
}

// delete calls f, and records what came of it. done is what is gone then.
func (e *execution) delete(what Failure, done *Report, f func() error) error {
	err := f()
	if err != nil && err != errStopped && e.fatal(err) { //nolint:errorlint // it is not wrapped
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		what.Message, what.Err = err.Error(), err
		e.failed[what.Repository] = true
		e.report.Failed = append(e.report.Failed, what)
	} else {
		e.report.Tags += done.Tags
		e.report.Manifests += done.Manifests
		e.report.Bytes += done.Bytes
	}
	if e.done++; e.Progress != nil {
		e.Progress(e.done, e.all)
	}
	return nil
}
