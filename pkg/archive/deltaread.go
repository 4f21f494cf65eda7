package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/delta/deltareader"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/space"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
)

// A BaseReader reads blobs of the site that deltas are based on. The readers compare what they return with its
// digest. If the site does not have a blob, the error wraps fs.ErrNotExist.
type BaseReader func(ctx context.Context, base DeltaBase) (io.ReadCloser, error)

// A deltaAt is a delta of a set.
type deltaAt struct {
	*Delta
	set   *set
	older *deltaAt // of the same blob, of a set before; nil if there is none
}

// A DeltaError reports that a blob cannot be made from its delta.
type DeltaError struct {
	Dir  string
	Blob digest.Digest
	Size int64 // of the blob, in bytes
	// MissingBase reports whether a blob of an earlier set or the site, which the delta is based on, cannot be read.
	// Otherwise the archive is damaged, or the delta does not give the blob.
	MissingBase bool
	Err         error

	broken ocispec.Descriptor // what has to be read so that the blob can be made
}

func (e *DeltaError) Error() string {
	return fmt.Sprintf("the archive in %s has %s as a delta, and it cannot be rebuilt: %v", e.Dir, e.Blob, e.Err)
}

func (e *DeltaError) Unwrap() error { return e.Err }

// Advice implements advice.Adviser.
func (e *DeltaError) Advice() (advice.Kind, string) {
	kind, remedy := advice.Mismatch, "request a repair, which has the blob itself"
	if !e.MissingBase && e.broken.Digest != e.Blob {
		return kind, "name all folders of the archive, or request a repair, which has " + string(e.broken.Digest)
	}
	if !e.MissingBase {
		return kind, remedy
	}
	remedy = "name the folders of the earlier archives, too, or " + remedy
	if errors.As(e.Err, new(*layout.CorruptError)) || errors.As(e.Err, new(*DamageError)) {
		return kind, remedy
	}
	if !errors.Is(e.Err, fs.ErrNotExist) {
		remedy = "run again once the mirror lets it be read, " + remedy
	}
	return advice.Partial, remedy
}

// UseBases sets where blobs that deltas are based on are read if none of the opened sets has them.
func (a *Archive) UseBases(r BaseReader) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bases = r
}

// deltaFor returns the delta that a blob is read from. ok is false if there is none, or if the blob itself
// can be read.
func (a *Archive) deltaFor(desc ocispec.Descriptor) (at deltaAt, ok bool) {
	at, ok = a.deltas[desc.Digest]
	if !ok || at.Size != desc.Size {
		return at, false
	}
	whole := locations(a.blobs, desc.Digest)
	return at, len(whole) == 0 || !covers(a.pieces(whole, piece.usable), desc.Size)
}

// Deltas iterates over the deltas of all opened sets, newer sets first.
func (a *Archive) Deltas() iter.Seq[*Delta] {
	return func(yield func(*Delta) bool) {
		for _, m := range a.members {
			for i := range m.set.Deltas {
				if !yield(&m.set.Deltas[i]) {
					return
				}
			}
		}
	}
}

// DeltaOf returns the delta of a blob, of any of the opened sets, or nil if there is none or the blob itself can
// be read.
func (a *Archive) DeltaOf(blob digest.Digest) *Delta {
	at, ok := a.deltas[blob]
	if ok {
		at, ok = a.deltaFor(at.Descriptor())
	}
	if !ok {
		return nil
	}
	return at.Delta
}

// BlobOf returns the blob that a delta file is for. ok is false for other content.
func (a *Archive) BlobOf(file digest.Digest) (blob ocispec.Descriptor, ok bool) {
	blob, ok = a.blobOf[file]
	return blob, ok
}

// lostContent returns the digest of a manifest or blob that an entry is read for: if it is a delta, the one
// of the blob. An entry with a path of its own is read for neither.
func (a *Archive) lostContent(e *entry) []digest.Digest {
	if blob, ok := a.BlobOf(e.Digest); ok && e.Path == "" {
		return []digest.Digest{blob.Digest}
	}
	return e.contentDigests()
}

// buildBlob makes a blob from its delta.
func (a *Archive) buildBlob(ctx context.Context, at deltaAt, offset int64) (io.ReadCloser, error) {
	if offset < 0 || offset > at.Size {
		return nil, fmt.Errorf("reading %s of the archive in %s from byte %d: it has %d", at.Digest, a.dirNames(), offset, at.Size)
	}
	body, err := a.builder.Blob(ctx, a.source(at))
	if err == nil && offset > 0 {
		_, err = io.CopyN(io.Discard, body, offset)
		if err != nil {
			_ = body.Close() // the error is reported
		}
	}
	if err != nil {
		return nil, a.deltaError(ctx, at, err)
	}
	return &builtReader{ReadCloser: body, ctx: ctx, archive: a, at: at, left: at.Size - offset}, nil
}

// source returns what the blob of a delta is made from.
func (a *Archive) source(at deltaAt) deltareader.Delta {
	known := elements.Map(at.Bases, func(b DeltaBase) ocispec.Descriptor { return b.Descriptor() })
	base := func(d digest.Digest) DeltaBase {
		return at.Bases[slices.IndexFunc(known, func(b ocispec.Descriptor) bool { return b.Digest == d })]
	}
	return deltareader.Delta{
		Blob: at.Descriptor(), Bases: known, Shared: a.needed[at.Digest],
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			return a.open(ctx, locations(a.blobs, at.File), 0, layout.Rest)
		},
		OpenBase: func(ctx context.Context, d digest.Digest, again bool) (io.ReadCloser, error) {
			if again {
				return a.openSiteBase(ctx, base(d))
			}
			return a.openBase(ctx, at, base(d))
		},
		BaseDelta: func(d digest.Digest) (deltareader.Delta, bool) {
			if of, ok := a.baseDelta(at, base(d)); ok {
				return a.source(of), true
			}
			return deltareader.Delta{}, false
		},
	}
}

// baseDelta returns the delta that a base of another is made from: of an earlier set, or, if the other is compact, of
// the same. So no blob needs itself.
func (a *Archive) baseDelta(at deltaAt, base DeltaBase) (_ deltaAt, ok bool) {
	newest, ok := a.deltaFor(base.Descriptor())
	for of := &newest; ok && of != nil; of = of.older {
		if of.Size == base.Size && (of.set.Sequence < at.set.Sequence || of.set == at.set && at.Format == CompactFormat) {
			return *of, true
		}
	}
	return deltaAt{}, false
}

// deltaError records why a blob cannot be made. The end of the context and a full disk say nothing about the
// delta.
func (a *Archive) deltaError(ctx context.Context, at deltaAt, err error) error {
	var damage *DamageError
	var same *DeltaError
	if ctx.Err() != nil || errors.As(err, &same) && same.Blob == at.Digest {
		return err
	}
	if space.IsFull(err) {
		return a.noSpace(ctx, at, err)
	}
	e := &DeltaError{Dir: a.dirNames(), Blob: at.Digest, Size: at.Size, Err: err}
	e.broken, e.MissingBase = a.brokenBase(at, err)
	if e.broken.Digest == at.Digest && !e.MissingBase && errors.As(err, &damage) {
		e.Err = errors.New(damage.format("its delta is not complete: ", "its delta is damaged in %d places:"))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures[at.Digest] = e
	return e
}

// built records that a blob was made, whatever happened to earlier attempts.
func (a *Archive) built(blob digest.Digest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.failures, blob)
}

// DeltaFailures returns why blobs could not be made from deltas, as far as they were read, by digest. A blob that
// was made by a later attempt is not among them. In place of blobs that are based on a broken one of their own set, that
// one is listed: with it, the others can be made.
func (a *Archive) DeltaFailures() []*DeltaError {
	a.mu.Lock()
	defer a.mu.Unlock()
	broken := map[digest.Digest]*DeltaError{}
	for _, f := range a.failures {
		e := *f
		e.Blob, e.Size = f.broken.Digest, f.broken.Size
		broken[e.Blob] = &e
	}
	return elements.Sorted(maps.Values(broken), func(x, y *DeltaError) int { return cmp.Compare(x.Blob, y.Blob) })
}

// brokenBase returns the blob that has to be read so that the blob of a delta can be made, after an error: a base that
// the same set carries, or one that this needs in turn, or the blob itself. elsewhere is true if it needs a blob that the
// set does not carry.
func (a *Archive) brokenBase(at deltaAt, err error) (blob ocispec.Descriptor, elsewhere bool) {
	blob = at.Descriptor()
	for ok := true; ok; {
		missing, is := errors.AsType[*deltareader.BaseError](err)
		if !is {
			return blob, false
		}
		base := at.Bases[slices.IndexFunc(at.Bases, func(b DeltaBase) bool { return b.Digest == missing.Base })]
		if !a.carries(at.set, base.Digest) {
			return blob, true
		}
		blob, err = base.Descriptor(), missing.Err
		at, ok = a.baseDelta(at, base)
	}
	return blob, false
}

// carries reports whether a set has a blob, whole or as a delta.
func (a *Archive) carries(s *set, blob digest.Digest) bool {
	newest, ok := a.deltas[blob]
	for at := &newest; ok && at != nil; at = at.older {
		if at.set == s {
			return true
		}
	}
	return slices.ContainsFunc(locations(a.blobs, blob), func(l location) bool { return a.members[l.member].set == s })
}

// openBase opens a base that is not carried as a delta: in the opened sets, or where the BaseReader finds it.
func (a *Archive) openBase(ctx context.Context, at deltaAt, base DeltaBase) (io.ReadCloser, error) {
	desc := base.Descriptor()
	if later, ok := a.deltaFor(desc); ok {
		return nil, fmt.Errorf("it is carried as a delta of sequence %d, which is not before %d", later.set.Sequence, at.set.Sequence)
	}
	body, err := a.Blob(ctx, "", desc, 0)
	if err == nil || ctx.Err() != nil {
		return body, err
	}
	there, absent := a.openSiteBase(ctx, base)
	if absent == nil || errors.Is(err, fs.ErrNotExist) && !errors.Is(absent, errNoSite) {
		return there, absent
	}
	if errors.Is(absent, fs.ErrNotExist) {
		return nil, err // its damage, or the missing archive, says more
	}
	return nil, absent
}

// errNoSite means that nothing but the opened sets can be read.
var errNoSite = fmt.Errorf("no mirror is read: %w", fs.ErrNotExist)

// openSiteBase opens a base where the BaseReader finds it.
func (a *Archive) openSiteBase(ctx context.Context, base DeltaBase) (io.ReadCloser, error) {
	a.mu.Lock()
	bases := a.bases
	a.mu.Unlock()
	if bases == nil {
		return nil, errNoSite
	}
	return bases(ctx, base)
}

// A builtReader reads a blob that is made from a delta.
type builtReader struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the reader
	archive *Archive
	at      deltaAt
	left    int64 // bytes to read; the last ones come after the digest was compared
	closed  atomic.Bool
}

func (r *builtReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.left -= int64(n)
	switch {
	case r.left == 0 && (err == nil || err == io.EOF):
		r.archive.built(r.at.Digest)
	case err != nil && err != io.EOF && !r.closed.Load(): // an HTTP client may close what it still reads
		err = r.archive.deltaError(r.ctx, r.at, err)
	}
	return n, err
}

// Close ends the reading.
func (r *builtReader) Close() error {
	r.closed.Store(true)
	return r.ReadCloser.Close()
}

// CheckTempDir returns an error if content is carried as deltas, and no file can be created in the folder for temporary
// files that these need.
func (a *Archive) CheckTempDir(content iter.Seq[ocispec.Descriptor]) error {
	for desc := range content {
		if _, ok := a.deltaFor(desc); ok {
			return a.createTemporary()
		}
	}
	return nil
}
