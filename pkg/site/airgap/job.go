package airgap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// An archiveJob is what has to be written for a plan.
type archiveJob struct {
	digest  digest.Digest // of the plan
	opts    archive.Options
	omitted *mirror.Omitted // nil if nothing is left out
	// unused is what the archive may build on although nothing is left out: deltas may need it. It is nil if
	// opts.Base is set, or if there is no base.
	unused *archive.Base
	// upToDate reports whether the folder already has an archive of the plan, so that nothing is
	// written.
	upToDate bool
}

// job finds what has to be written for a plan.
func (n *Export) job(p *plan.Plan) (*archiveJob, error) {
	d, err := p.Digest()
	if err != nil {
		return nil, err
	}
	l := n.history
	e := &archiveJob{digest: d, opts: n.opts.Archive}
	e.opts.VolumeSize = cmp.Or(e.opts.VolumeSize, p.ArchiveSize<<30, archive.DefaultVolumeSize)
	e.opts.After = l.after
	if l.signing != nil {
		e.opts.MaySign = func(set state.SetRef) bool { return l.checkSigner(l.dir, set) == nil }
	}
	if l.unidentified { // it is not known which archive would be replaced
		e.opts.Replace = false
	}
	if n.hasCompact(d) {
		e.upToDate = true
		return e, nil
	}
	if l.base == nil {
		return e, nil
	}
	if l.folderHas(d, e.opts.Encrypt != nil) {
		// The same plan again: only a full archive may have another volume size.
		e.upToDate = len(l.newest.BuildsOn) > 0
		return e, nil
	}
	if e.omitted, err = mirror.FindOmitted(p, l.base.receipt); err != nil {
		return nil, err
	}
	e.opts.Replace = false
	base := &archive.Base{Sets: []state.SetRef{l.base.set}}
	if e.omitted.Manifests+e.omitted.Blobs == 0 {
		e.omitted, e.unused = nil, base
		base.Has = func(digest.Digest) bool { return false }
		return e, nil
	}
	e.opts.Base, base.Has, base.RepositoryOf = base, e.omitted.Has, e.omitted.Repository
	if l.base.plan == d {
		e.opts.Base.Plan = d
		e.opts.Base.Index, err = indexDigest(p)
	}
	return e, err
}

// hasCompact reports whether the newest archive in the folder is the compact one of a plan. It stays: how compact one becomes depends on the time
// that comparing took.
func (n *Export) hasCompact(plan digest.Digest) bool {
	l, o := n.history, n.opts
	return o.Deltas != nil && o.Deltas.Compact != nil && l.folderHas(plan, o.Archive.Encrypt != nil) && l.newest.Compact() &&
		(o.Archive.VolumeSize == 0 || o.Archive.VolumeSize == l.newest.VolumeSize)
}

// folderHas reports whether the newest archive in the folder is of a plan, unless the base was
// selected explicitly.
func (l *history) folderHas(plan digest.Digest, encrypted bool) bool {
	return !l.baseChosen && l.newest != nil && l.intact && l.newest.Plan == plan && l.newest.Encrypted == encrypted
}

// indexDigest returns the digest of the index.json of a plan's archive.
func indexDigest(p *plan.Plan) (digest.Digest, error) {
	index, err := mirror.IndexManifests(p)
	if err != nil {
		return "", err
	}
	text := digest.SHA256.Digester()
	err = layout.WriteIndex(text.Hash(), index)
	return text.Digest(), err
}

// Preview returns what Run would write for a plan: nothing if the newest archive in the folder is
// of this plan.
func (n *Export) Preview(ctx context.Context, p *plan.Plan) (*mirror.ToCopy, error) {
	e, err := n.job(p)
	if err != nil {
		return nil, err
	}
	if e.upToDate {
		return &mirror.ToCopy{Present: len(p.Images), BytesPresent: p.Totals.Bytes}, nil
	}
	if e.omitted != nil {
		return mirror.Compare(ctx, p, presentDestination{e.omitted.Has}, mirror.Options{})
	}
	all := &mirror.ToCopy{Images: len(p.Images), Bytes: p.Totals.Bytes}
	have, err := archive.Open(n.opts.Dir)
	var damage *archive.DamageError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
		return all, nil // a damaged archive is followed by a new one
	}
	if err != nil {
		return nil, err
	}
	newest := have.Selected()
	if newest.NeedsIdentity {
		if l := n.history; l.newest != nil && l.intact {
			newest = *l.newest // the history knows its plan
		}
		return e.compare(newest, all), have.Close()
	}
	text, err := have.OpenPlan(ctx)
	if err == nil {
		_, err = io.Copy(io.Discard, text) // compares the digest
		err = errors.Join(err, text.Close())
	}
	if err := errors.Join(err, have.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return e.compare(newest, all), nil
}

// compare returns what the folder is missing, given its newest archive: all, or nothing.
func (e *archiveJob) compare(newest archive.SetInfo, all *mirror.ToCopy) *mirror.ToCopy {
	if newest.Plan != e.digest || newest.VolumeSize != e.opts.VolumeSize || len(newest.BuildsOn) > 0 || newest.Encrypted != (e.opts.Encrypt != nil) {
		return all
	}
	return &mirror.ToCopy{Present: all.Images, BytesPresent: all.Bytes}
}

// A presentDestination is a destination that already has the content and accepts none.
type presentDestination struct{ has func(digest.Digest) bool }

// Has implements mirror.Store.
func (s presentDestination) Has(desc ocispec.Descriptor) bool { return s.has(desc.Digest) }

// PutBlob implements mirror.Destination.
func (presentDestination) PutBlob(_ context.Context, _ string, desc ocispec.Descriptor, _ mirror.Open) error {
	return fmt.Errorf("%s was to be there", desc.Digest)
}

// PutManifest implements mirror.Destination.
func (presentDestination) PutManifest(_ context.Context, _ string, desc ocispec.Descriptor, _ []byte, _ []string) error {
	return fmt.Errorf("%s was to be there", desc.Digest)
}
