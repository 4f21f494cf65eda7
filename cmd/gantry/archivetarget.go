package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// archiveTarget is a folder on the medium that is carried.
type archiveTarget struct {
	dir  string
	opts archive.Options
	// voucher says what may be signed; nil where nothing is.
	voucher *voucher
	// lineage says what may be left out; nil is nothing.
	lineage *lineage
	// note enters an archive into the history; nil for none.
	note func(c workspace.Carried, record func(io.Writer) error) error
	// again says that less of the plan may be carried out after it (--on-error
	// package), so that what the site has has to be known then, too.
	again bool
	// wrote is the archive, once it is complete.
	wrote *archiveResult
}

func (t *archiveTarget) registry() *registryTarget { return nil }

// admit refuses a plan of another name than that of the archive in the folder,
// which would be removed once the new one is complete.
func (t *archiveTarget) admit(ctx context.Context, p *plan.Plan) error {
	name := t.holds(ctx)
	if name == "" || name == p.Name {
		return nil
	}
	return usageHint(fmt.Sprintf("write to another folder, or say --name %s where this one takes the place of that one", name),
		"%s%s holds the archive of another configuration, %q", fileScheme, t.dir, name)
}

// holds is the name of the plan of the archive in the folder; "" where there is
// none, or none that could be mirrored from.
func (t *archiveTarget) holds(ctx context.Context) string {
	if t.lineage != nil && t.lineage.sound { // it was looked into for that
		return t.lineage.series
	}
	have, err := archive.Inspect(t.dir)
	if err != nil {
		return ""
	}
	defer func() { _ = have.Close() }() // only read from
	text, err := have.OpenPlan(ctx)
	if errors.Is(err, os.ErrNotExist) {
		return have.Newest().Series // its plan is in an earlier one
	}
	if err != nil {
		return ""
	}
	defer text.Close() // only read from
	return planName(text)
}

// planName is the name in the JSON of a plan, which stands near its beginning; ""
// where there is none.
func planName(text io.Reader) string {
	dec := json.NewDecoder(text)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for dec.More() {
		field, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return ""
		}
		if field == "name" {
			var name string
			_ = json.Unmarshal(value, &name) // what is no text is no name
			return name
		}
	}
	return ""
}

// planDigest is the digest of a plan's text.
func planDigest(p *plan.Plan) (digest.Digest, error) {
	text := digest.SHA256.Digester()
	err := p.Write(text.Hash())
	return text.Digest(), err
}

// An archiveResult is an archive that was written, or that is there already.
type archiveResult struct {
	Sequence int           `json:"sequence"`
	Set      digest.Digest `json:"set,omitempty"` // of its set manifest
	// BuildsOn is the sequence whose content is left out; 0 for an archive that is
	// whole in itself.
	BuildsOn int      `json:"buildsOn,omitempty"`
	LeftOut  *leftOut `json:"leftOut,omitempty"`
	// Empty says that all content was left out: a disk with this and nothing else
	// brings nothing.
	Empty bool `json:"empty,omitempty"`

	said    string // where what was left out is, for people
	already bool   // it was there before the run
}

// leftOut is content that the site has.
type leftOut struct {
	Manifests int   `json:"manifests"`
	Blobs     int   `json:"blobs"`
	Bytes     int64 `json:"bytes"`
}

// An errand is what is to be written of a plan.
type errand struct {
	digest digest.Digest // of the plan
	opts   archive.Options
	left   *mirror.Left // nil where nothing is left out
	// done says that the folder has an archive of the plan, and nothing is written.
	done bool
}

// errand finds what is to be written of a plan.
func (t *archiveTarget) errand(p *plan.Plan) (*errand, error) {
	d, err := planDigest(p)
	if err != nil {
		return nil, err
	}
	e := &errand{digest: d, opts: t.opts}
	e.opts.VolumeSize = t.volumeSize(p)
	l := t.lineage
	if l == nil {
		return e, nil
	}
	e.opts.After = l.after
	if l.voucher != nil {
		e.opts.Known = func(set archive.BaseSet) bool { return l.vouchFor(t.dir, set) == nil }
	}
	if l.stranger { // nobody knows whose place this one would take
		e.opts.Replace = false
	}
	if l.base == nil {
		return e, nil
	}
	if !l.chosen && l.folder != nil && l.sound && l.folder.Plan == d && l.folder.Encrypted == (t.opts.Encrypt != nil) {
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
		index, err := mirror.Names(p)
		if err != nil {
			return nil, err
		}
		text := digest.SHA256.Digester()
		if err := layout.WriteIndex(text.Hash(), index); err != nil {
			return nil, err
		}
		e.opts.Base.Index = text.Digest()
	}
	return e, nil
}

// look finds out what an archive of this plan would get. Where the newest in the
// folder is of it, that is nothing.
func (t *archiveTarget) look(ctx context.Context, p *plan.Plan) (*mirror.Missing, error) {
	e, err := t.errand(p)
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
	have, err := archive.Open(t.dir)
	var damage *archive.DamageError
	if errors.Is(err, os.ErrNotExist) || errors.As(err, &damage) {
		return all, nil // a damaged archive is not added to, but followed by a new one
	}
	if err != nil {
		return nil, err
	}
	newest := have.Newest()
	if newest.Locked {
		if l := t.lineage; l != nil && l.folder != nil && l.sound {
			newest = *l.folder // its plan is known to the history
		}
		return t.compared(e, newest, all), have.Close()
	}
	there, err := have.OpenPlan(ctx)
	if err == nil {
		_, err = io.Copy(io.Discard, there) // compares it with its digest
		err = errors.Join(err, there.Close())
	}
	if err := errors.Join(err, have.Close()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return t.compared(e, newest, all), nil
}

// compared is what a folder lacks whose newest archive that is: all, or nothing.
func (t *archiveTarget) compared(e *errand, newest archive.SetInfo, all *mirror.Missing) *mirror.Missing {
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

// volumeSize is the limit of the archive's volumes in bytes.
func (t *archiveTarget) volumeSize(p *plan.Plan) int64 {
	return cmp.Or(t.opts.VolumeSize, p.ArchiveSize<<30, archive.DefaultVolumeSize)
}

func (t *archiveTarget) mirror(ctx context.Context, p *plan.Plan, source mirror.Source, run mirror.Options) (*mirror.Report, error) {
	e, err := t.errand(p)
	if err != nil {
		return &mirror.Report{}, err
	}
	if !t.again && t.lineage != nil && t.lineage.base != nil {
		t.lineage.base.receipt = nil // as large as the plan, and looked into
	}
	if e.done {
		folder := t.lineage.folder
		t.wrote = &archiveResult{Sequence: folder.Sequence, Set: folder.Set, BuildsOn: folder.BuildsOn[len(folder.BuildsOn)-1].Sequence, already: true}
		if t.opts.Sign != nil {
			if err := archive.Sign(ctx, t.dir, folder.BaseSet, t.opts.Sign); err != nil {
				return &mirror.Report{}, err
			}
		}
		return mirror.Run(ctx, p, source, there{func(digest.Digest) bool { return true }}, run)
	}
	index, err := mirror.Names(p)
	if err != nil {
		return &mirror.Report{}, err
	}
	w, err := archive.Create(ctx, t.dir, archive.Content{Name: p.Name, Plan: p.Write, Index: index, Entries: mirror.Content(p)}, e.opts)
	if err != nil {
		return &mirror.Report{}, err
	}
	report, err := mirror.Run(ctx, p, source, w, run)
	report.Unfinished = len(report.Failed) > len(p.Missing)
	if err == nil && !report.Unfinished {
		err = t.finish(ctx, w, e, p)
	}
	return report, errors.Join(err, w.Close())
}

// finish completes the archive and enters it into the history. That it is being
// completed is noted before, so that a run which is killed in between leaves no
// archive that the history does not know of.
func (t *archiveTarget) finish(ctx context.Context, w *archive.Writer, e *errand, p *plan.Plan) error {
	dir, err := filepath.Abs(t.dir)
	if err != nil {
		return err
	}
	c := workspace.Carried{Sequence: w.Sequence(), Date: time.Now().UTC(), Plan: e.digest, Full: e.opts.Base == nil, Encrypted: e.opts.Encrypt != nil, Dir: dir}
	known := w.Complete() && t.lineage != nil && slices.ContainsFunc(t.lineage.past, func(past workspace.Carried) bool { return past.Sequence == c.Sequence })
	if t.note != nil && !known {
		c.Found = w.Complete() && t.voucher == nil
		r, err := predicted(p, p.Name)
		if err != nil {
			return err
		}
		if err := t.note(c, r.Write); err != nil {
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
	t.wrote = &archiveResult{Sequence: set.Sequence, Set: set.Set}
	if e.left != nil {
		t.wrote.BuildsOn = t.lineage.base.set.Sequence
		t.wrote.LeftOut = &leftOut{Manifests: e.left.Manifests, Blobs: e.left.Blobs, Bytes: e.left.Bytes}
		t.wrote.Empty = e.left.Manifests+e.left.Blobs == len(p.Manifests)+len(p.Blobs)
		t.wrote.said = t.lineage.base.where
	}
	if t.note == nil || known {
		return nil
	}
	c.Set = set.Set
	return t.note(c, nil)
}

// headline says what became of an archive that builds on others, where no image was
// copied.
func (r *archiveResult) headline(b *strings.Builder, images int, destination string) {
	switch {
	case r.already:
		fmt.Fprintf(b, "Nothing to copy: sequence %d at %s is of this content. It builds on sequence %d, which is needed beside it where a site never imported that.\n", r.Sequence, destination, r.BuildsOn)
	case r.Empty:
		where, more := r.said, "For a second copy of a disk, copy its files; --full writes all content.\n"
		if rest, ok := strings.CutPrefix(where, "the site has "); ok {
			where, more = "are at the site "+rest, "--full writes all content.\n"
		}
		what := fmt.Sprintf("all %d images ", images)
		if images == 1 {
			what, where = "the image ", strings.Replace(where, "are ", "is ", 1)
		}
		fmt.Fprintf(b, "Nothing to copy, and nothing to carry: sequence %d at %s has no content, since %s%s.\n%s", r.Sequence, destination, what, where, more)
	default: // an earlier run had copied all of it
		fmt.Fprintf(b, "Nothing was left to copy: sequence %d at %s is complete now.\n", r.Sequence, destination)
	}
}

// write says what the archive leaves out.
func (r *archiveResult) write(b *strings.Builder) {
	if r == nil || r.LeftOut == nil || r.Empty {
		return
	}
	n, what := r.LeftOut.Blobs, number(r.LeftOut.Blobs, "blob", "blobs")
	if n == 0 {
		n, what = r.LeftOut.Manifests, number(r.LeftOut.Manifests, "manifest", "manifests")
	}
	said := r.said
	if rest, ok := strings.CutPrefix(said, "are "); ok && n == 1 {
		said = "is " + rest
	}
	fmt.Fprintf(b, "Sequence %d leaves out %s (%s), which %s; --full writes all content.\n", r.Sequence, what, progress.Bytes(r.LeftOut.Bytes), said)
}
