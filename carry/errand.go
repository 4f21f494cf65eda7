package carry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/plan"
)

// An errand is what is to be written of a plan.
type errand struct {
	digest digest.Digest // of the plan
	opts   archive.Options
	left   *mirror.Left // nil where nothing is left out
	// done says that the folder has an archive of the plan, and nothing is written.
	done bool
}

// errand finds what is to be written of a plan.
func (n *Next) errand(p *plan.Plan) (*errand, error) {
	d, err := planDigest(p)
	if err != nil {
		return nil, err
	}
	l := n.lineage
	e := &errand{digest: d, opts: n.opts.Archive}
	e.opts.VolumeSize = cmp.Or(e.opts.VolumeSize, p.ArchiveSize<<30, archive.DefaultVolumeSize)
	e.opts.After = l.after
	if l.voucher != nil {
		e.opts.Known = func(set archive.BaseSet) bool { return l.vouchFor(l.dir, set) == nil }
	}
	if l.stranger { // nobody knows whose place this one would take
		e.opts.Replace = false
	}
	if l.base == nil {
		return e, nil
	}
	if l.has(d, e.opts.Encrypt != nil) {
		// The same once more: a whole archive may be laid out for other volumes.
		e.done = len(l.folder.BuildsOn) > 0
		return e, nil
	}
	if e.left, err = mirror.Leave(p, l.base.receipt); err != nil {
		return nil, err
	}
	e.opts.Replace = false
	if e.left.Manifests+e.left.Blobs == 0 {
		e.left = nil
		return e, nil
	}
	e.opts.Base = &archive.Base{
		Sets:  []archive.BaseSet{archive.BaseSet(l.base.set)},
		Holds: e.left.Holds, Where: e.left.Where,
	}
	if l.base.plan == d {
		e.opts.Base.Plan = d
		e.opts.Base.Index, err = indexDigest(p)
	}
	return e, err
}

// has reports whether the newest archive in the folder is of a plan, where nobody said
// what to build on.
func (l *lineage) has(plan digest.Digest, encrypted bool) bool {
	return !l.chosen && l.folder != nil && l.sound && l.folder.Plan == plan && l.folder.Encrypted == encrypted
}

// planDigest is the digest of a plan's text.
func planDigest(p *plan.Plan) (digest.Digest, error) {
	text := digest.SHA256.Digester()
	err := p.Write(text.Hash())
	return text.Digest(), err
}

// indexDigest is the digest of the index.json of a plan's archive.
func indexDigest(p *plan.Plan) (digest.Digest, error) {
	index, err := mirror.Names(p)
	if err != nil {
		return "", err
	}
	text := digest.SHA256.Digester()
	err = layout.WriteIndex(text.Hash(), index)
	return text.Digest(), err
}

// Look finds out what an archive of this plan would get. Where the newest in the
// folder is of it, that is nothing.
func (n *Next) Look(ctx context.Context, p *plan.Plan) (*mirror.Missing, error) {
	e, err := n.errand(p)
	if err != nil {
		return nil, err
	}
	if e.done {
		return &mirror.Missing{Present: len(p.Images), AlreadyThere: p.Totals.Bytes}, nil
	}
	if e.left != nil {
		return mirror.Look(ctx, p, there{e.left.Holds}, mirror.Options{})
	}
	all := &mirror.Missing{Images: len(p.Images), Bytes: p.Totals.Bytes}
	have, err := archive.Open(n.opts.Dir)
	var damage *archive.DamageError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
		return all, nil // a damaged archive is not added to, but followed by a new one
	}
	if err != nil {
		return nil, err
	}
	newest := have.Newest()
	if newest.Locked {
		if l := n.lineage; l.folder != nil && l.sound {
			newest = *l.folder // its plan is known to the history
		}
		return e.compared(newest, all), have.Close()
	}
	text, err := have.OpenPlan(ctx)
	if err == nil {
		_, err = io.Copy(io.Discard, text) // compares it with its digest
		err = errors.Join(err, text.Close())
	}
	if err := errors.Join(err, have.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return e.compared(newest, all), nil
}

// compared is what a folder lacks whose newest archive that is: all, or nothing.
func (e *errand) compared(newest archive.SetInfo, all *mirror.Missing) *mirror.Missing {
	if newest.Plan != e.digest || newest.VolumeSize != e.opts.VolumeSize || len(newest.BuildsOn) > 0 || newest.Encrypted != (e.opts.Encrypt != nil) {
		return all
	}
	return &mirror.Missing{Present: all.Images, AlreadyThere: all.Bytes}
}

// there is a sink that has content already, and takes none.
type there struct{ has func(digest.Digest) bool }

// Has implements mirror.Holder.
func (s there) Has(desc ocispec.Descriptor) bool { return s.has(desc.Digest) }

// PutBlob implements mirror.Sink.
func (there) PutBlob(_ context.Context, _ string, desc ocispec.Descriptor, _ mirror.Open) error {
	return fmt.Errorf("%s was to be there", desc.Digest)
}

// PutManifest implements mirror.Sink.
func (there) PutManifest(_ context.Context, _ string, desc ocispec.Descriptor, _ []byte, _ []string) error {
	return fmt.Errorf("%s was to be there", desc.Digest)
}
