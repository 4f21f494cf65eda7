package airgap

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// An ExportResult is an archive that was written or was already present.
type ExportResult struct {
	Sequence int           `json:"sequence"`
	Set      digest.Digest `json:"set,omitempty"` // the digest of the set manifest
	// BuildsOn is the sequence whose content is left out, 0 for a full archive.
	BuildsOn int      `json:"buildsOn,omitempty"`
	Omitted  *Omitted `json:"leftOut,omitempty"`
	// Deltas are the blobs that are carried as deltas; nil if there are none and none were wanted.
	Deltas *DeltaResult `json:"deltas,omitempty"`
	// Empty reports whether all content was left out: such an archive brings nothing new.
	Empty bool `json:"empty,omitempty"`
	// Files are the files to carry, by name, and Bytes is their total size.
	Files []archive.FileInfo `json:"files"`
	Bytes int64              `json:"bytes"`

	// Bases tells where the omitted content is. AlreadyPresent reports whether the archive existed
	// before the run.
	Bases          BaseRange `json:"-"`
	AlreadyPresent bool      `json:"-"`
}

// Omitted is content that is left out because the site has it.
type Omitted struct {
	Manifests int   `json:"manifests"`
	Blobs     int   `json:"blobs"`
	Bytes     int64 `json:"bytes"`
}

// Run writes the archive of a plan and adds it to the history. If images of the plan were
// unavailable, the archive stays unfinished, and another run can continue it.
func (n *Export) Run(ctx context.Context, p *plan.Plan, source image.Reader, run mirror.Options) (*mirror.Report, error) {
	e, err := n.job(p)
	if err != nil {
		return &mirror.Report{}, err
	}
	if e.upToDate {
		return n.signPresent(ctx, p, source, run)
	}
	made, err := n.makeDeltas(ctx, p, e, source)
	if err != nil {
		return &mirror.Report{}, err
	}
	defer made.Close()
	if base := n.history.base; !n.opts.Repeatable && base != nil {
		base.receipt = nil // frees memory: it is as large as the plan
	}
	index, err := mirror.IndexManifests(p)
	if err != nil {
		return &mirror.Report{}, err
	}
	w, err := archive.Create(ctx, n.opts.Dir, archive.Content{
		Name: p.Name, Plan: p.Write, PlanDigest: e.digest, Index: index, Entries: mirror.Content(p), Deltas: made.Deltas,
	}, e.opts)
	if err != nil {
		return &mirror.Report{}, err
	}
	report, err := mirror.Run(ctx, p, made.Source(source), w, run)
	report.Unfinished = len(report.Failed) > len(p.Missing)
	if err == nil && !report.Unfinished {
		err = n.finish(ctx, w, e, p)
	}
	return report, errors.Join(err, w.Close())
}

// signPresent signs the archive of the plan that the folder already has, and writes nothing else.
func (n *Export) signPresent(ctx context.Context, p *plan.Plan, source image.Reader, run mirror.Options) (*mirror.Report, error) {
	folder := n.history.newest
	n.result = &ExportResult{Sequence: folder.Sequence, Set: folder.Set, AlreadyPresent: true}
	if below := folder.BuildsOn; len(below) > 0 {
		n.result.BuildsOn = below[len(below)-1].Sequence
	}
	if sign := n.opts.Archive.Sign; sign != nil {
		if err := archive.Sign(ctx, n.opts.Dir, folder.SetRef, sign); err != nil {
			return &mirror.Report{}, err
		}
	}
	if n.opts.Archive.Redundancy > 0 {
		if err := archive.AddParity(ctx, n.opts.Dir, folder.SetRef, n.opts.Archive); err != nil {
			return &mirror.Report{}, err
		}
	}
	if err := cmp.Or(archive.Tidy(n.opts.Dir, n.opts.Archive.Log), n.result.listFiles(n.opts.Dir)); err != nil {
		return &mirror.Report{}, err
	}
	return mirror.Run(ctx, p, source, presentDestination{func(digest.Digest) bool { return true }}, run)
}

// finish completes the archive and adds it to the history. An incomplete entry is saved before, so
// that a run that is killed in between leaves no archive that the history does not know.
func (n *Export) finish(ctx context.Context, w *archive.Writer, e *archiveJob, p *plan.Plan) error {
	dir, err := filepath.Abs(n.opts.Dir)
	if err != nil {
		return err
	}
	l := n.history
	c := state.Export{
		SetRef: state.SetRef{Sequence: w.Sequence()}, Date: time.Now().UTC(), Plan: e.digest, Full: e.opts.Base == nil, Encrypted: e.opts.Encrypt != nil, Dir: dir,
		Found: w.Complete() && l.signing == nil,
	}
	known := w.Complete() && l.known(c.Sequence)
	if !known {
		r, err := predictReceipt(p, p.Name)
		if err != nil {
			return err
		}
		if err := l.ws.SaveExport(l.name, c, r.Write); err != nil {
			return err
		}
	}
	if err := w.Finish(ctx); err != nil {
		return err
	}
	set, err := w.Ref()
	if err != nil {
		return err
	}
	n.result = e.result(set, l.base, p)
	n.result.Deltas = n.deltas
	if err := n.result.listFiles(n.opts.Dir); err != nil {
		return err
	}
	if known {
		return nil
	}
	c.Set = set.Set
	return l.ws.SaveExport(l.name, c, nil)
}

// listFiles sets the files of the archive in a folder.
func (r *ExportResult) listFiles(dir string) (err error) {
	r.Files, err = archive.Files(dir, r.Sequence)
	r.Bytes = 0
	for _, f := range r.Files {
		r.Bytes += f.Size
	}
	return err
}

// result returns the result of the job.
func (e *archiveJob) result(set state.SetRef, base *base, p *plan.Plan) *ExportResult {
	w := &ExportResult{Sequence: set.Sequence, Set: set.Set}
	if e.opts.Base != nil {
		w.BuildsOn, w.Bases = base.set.Sequence, base.bases
	}
	if e.omitted != nil {
		w.Omitted = &Omitted{Manifests: e.omitted.Manifests, Blobs: e.omitted.Blobs, Bytes: e.omitted.Bytes}
		w.Empty = e.omitted.Manifests+e.omitted.Blobs == len(p.Manifests)+len(p.Blobs)
	}
	return w
}
