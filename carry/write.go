package carry

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// Written is an archive that was written, or that is there already.
type Written struct {
	Sequence int           `json:"sequence"`
	Set      digest.Digest `json:"set,omitempty"` // of its set manifest
	// BuildsOn is the sequence whose content is left out; 0 for an archive that is
	// whole in itself.
	BuildsOn int      `json:"buildsOn,omitempty"`
	LeftOut  *LeftOut `json:"leftOut,omitempty"`
	// Empty says that all content was left out: a disk with this and nothing else
	// brings nothing.
	Empty bool `json:"empty,omitempty"`

	// Where says where what was left out is, and Already that the archive was there
	// before the run.
	Where   Where `json:"-"`
	Already bool  `json:"-"`
}

// LeftOut is content that the site has.
type LeftOut struct {
	Manifests int   `json:"manifests"`
	Blobs     int   `json:"blobs"`
	Bytes     int64 `json:"bytes"`
}

// Mirror writes the archive of a plan, and enters it in the history. Where images could
// not be had that the plan has, it stays unfinished for another run.
func (n *Next) Mirror(ctx context.Context, p *plan.Plan, source mirror.Source, run mirror.Options) (*mirror.Report, error) {
	e, err := n.errand(p)
	if err != nil {
		return &mirror.Report{}, err
	}
	if base := n.lineage.base; !n.opts.Again && base != nil {
		base.receipt = nil // as large as the plan, and looked into
	}
	if e.done {
		return n.found(ctx, p, source, run)
	}
	index, err := mirror.Names(p)
	if err != nil {
		return &mirror.Report{}, err
	}
	w, err := archive.Create(ctx, n.opts.Dir, archive.Content{Name: p.Name, Plan: p.Write, Index: index, Entries: mirror.Content(p)}, e.opts)
	if err != nil {
		return &mirror.Report{}, err
	}
	report, err := mirror.Run(ctx, p, source, w, run)
	report.Unfinished = len(report.Failed) > len(p.Missing)
	if err == nil && !report.Unfinished {
		err = n.finish(ctx, w, e, p)
	}
	return report, errors.Join(err, w.Close())
}

// found signs the archive that the folder has of the plan, and writes nothing else.
func (n *Next) found(ctx context.Context, p *plan.Plan, source mirror.Source, run mirror.Options) (*mirror.Report, error) {
	folder := n.lineage.folder
	n.written = &Written{Sequence: folder.Sequence, Set: folder.Set, BuildsOn: folder.BuildsOn[len(folder.BuildsOn)-1].Sequence, Already: true}
	if sign := n.opts.Archive.Sign; sign != nil {
		if err := archive.Sign(ctx, n.opts.Dir, folder.BaseSet, sign); err != nil {
			return &mirror.Report{}, err
		}
	}
	return mirror.Run(ctx, p, source, there{func(digest.Digest) bool { return true }}, run)
}

// finish completes the archive and enters it into the history. That it is being
// completed is noted before, so that a run which is killed in between leaves no
// archive that the history does not know of.
func (n *Next) finish(ctx context.Context, w *archive.Writer, e *errand, p *plan.Plan) error {
	dir, err := filepath.Abs(n.opts.Dir)
	if err != nil {
		return err
	}
	l := n.lineage
	c := workspace.Carried{
		Sequence: w.Sequence(), Date: time.Now().UTC(), Plan: e.digest, Full: e.opts.Base == nil, Encrypted: e.opts.Encrypt != nil, Dir: dir,
		Found: w.Complete() && l.voucher == nil,
	}
	known := w.Complete() && l.known(c.Sequence)
	if !known {
		r, err := predicted(p, p.Name)
		if err != nil {
			return err
		}
		if err := l.ws.SaveCarried(l.name, c, r.Write); err != nil {
			return err
		}
	}
	if err := w.Finish(ctx); err != nil {
		return err
	}
	set, err := w.Set()
	if err != nil {
		return err
	}
	n.written = e.written(set, l.base, p)
	if known {
		return nil
	}
	c.Set = set.Set
	return l.ws.SaveCarried(l.name, c, nil)
}

// written is what an errand became.
func (e *errand) written(set archive.BaseSet, base *base, p *plan.Plan) *Written {
	w := &Written{Sequence: set.Sequence, Set: set.Set}
	if e.left != nil {
		w.BuildsOn, w.Where = base.set.Sequence, base.where
		w.LeftOut = &LeftOut{Manifests: e.left.Manifests, Blobs: e.left.Blobs, Bytes: e.left.Bytes}
		w.Empty = e.left.Manifests+e.left.Blobs == len(p.Manifests)+len(p.Blobs)
	}
	return w
}
