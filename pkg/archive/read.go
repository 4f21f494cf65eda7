package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// missingSetError names the missing sets that a set builds on.
func (a *Archive) missingSetError() error {
	if len(a.absent) == 0 {
		return fs.ErrNotExist
	}
	b := a.absent[0]
	if b.cause != nil {
		return fmt.Errorf("%s, which %s builds on, cannot be read: %w: %w", setName(b.Sequence), a.set.id().manifest(), b.cause, fs.ErrNotExist)
	}
	if len(a.absent) == 1 {
		return fmt.Errorf("%s (%s), which %s builds on, is not in %s: %w", setName(b.Sequence), b.Set, a.set.id().manifest(), a.dirNames(), fs.ErrNotExist)
	}
	var names []string
	for _, b := range slices.Backward(a.absent) {
		names = append(names, fmt.Sprintf("%s (%s)", setName(b.Sequence), b.Set))
	}
	return fmt.Errorf("%s and %s, which %s builds on, are not in %s: %w",
		strings.Join(names[:len(names)-1], ", "), names[len(names)-1], a.set.id().manifest(), a.dirNames(), fs.ErrNotExist)
}

// Manifest returns a manifest of the archive. from is ignored: content is found by its digest. If
// the archive does not have the manifest, the error wraps fs.ErrNotExist.
func (a *Archive) Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	have := locations(a.blobs, d)
	if len(have) == 0 {
		return ocispec.Descriptor{}, nil, a.notFound(ocispec.Descriptor{Digest: d})
	}
	raw, err := a.readAll(ctx, have, manifest.MaxSize)
	return ocispec.Descriptor{MediaType: have[0].entry.MediaType, Digest: d, Size: have[0].entry.length()}, raw, err
}

// Blob opens content of the archive, in place, at offset. Content in parts is one stream. from is
// ignored: content is found by its digest. If the archive does not have the content, the error
// wraps fs.ErrNotExist. If the content was altered and is read from offset 0, reading ends with a
// *DamageError instead of io.EOF. Content that exists more than once, in a repair for example, is
// read from an intact copy. A blob that the archive has as a delta is made while it is read, from blobs of
// earlier sets or of the BaseReader; if that fails, the error is a *DeltaError.
func (a *Archive) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return a.blob(ctx, desc, offset, layout.Rest)
}

// A checkFunc returns a reader of content from an offset that checks it: layout.Rest or
// layout.Measured.
type checkFunc func(ctx context.Context, body io.ReadCloser, desc ocispec.Descriptor, offset int64, where string) (io.ReadCloser, error)

func (a *Archive) blob(ctx context.Context, desc ocispec.Descriptor, offset int64, check checkFunc) (io.ReadCloser, error) {
	if at, ok := a.deltaFor(desc); ok {
		return a.buildBlob(ctx, at, offset)
	}
	have := locations(a.blobs, desc.Digest)
	if len(have) == 0 {
		return nil, a.notFound(desc)
	}
	if size := have[0].entry.length(); size != desc.Size {
		return nil, fmt.Errorf("the archive in %s has %s with %d bytes, not %d", a.dirNames(), desc.Digest, size, desc.Size)
	}
	return a.open(ctx, have, offset, check)
}

// UnhashedBlob is Blob without the comparison with the digest, for a receiver that makes it. The
// length is checked, and what cannot be read is a *DamageError.
func (a *Archive) UnhashedBlob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return a.blob(ctx, desc, offset, layout.Measured)
}

// notFound returns the error for content that no set has.
func (a *Archive) notFound(desc ocispec.Descriptor) error {
	for _, m := range a.members {
		if m.needsIdentity() {
			return fmt.Errorf("looking for %s: %w", desc.Digest, a.encryptedError(m.outer, a.dirs[m.dir], nil))
		}
	}
	if repository := a.repositories[desc.Digest]; repository != "" {
		return fmt.Errorf("the archive in %s has no %s, which an earlier one brought to %s: %w", a.dirNames(), desc.Digest, repository, a.missingSetError())
	}
	return fmt.Errorf("the archive in %s has no %s: %w", a.dirNames(), desc.Digest, a.missingSetError())
}

func (a *Archive) open(ctx context.Context, have []location, offset int64, check checkFunc) (io.ReadCloser, error) {
	e := have[0].entry
	if offset < 0 || offset > e.length() {
		return nil, fmt.Errorf("reading %s of the archive in %s from byte %d: it has %d", e.Digest, a.dirNames(), offset, e.length())
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	pieces, err := a.choosePieces(ctx, have)
	if err != nil {
		return nil, err
	}
	j := &pieceReader{pieces: pieces, offset: offset, size: e.length()}
	body, err := check(ctx, j, descriptorOf(e), offset, e.path())
	if err != nil {
		return nil, err
	}
	c := &contentReader{ReadCloser: body, archive: a, pieceReader: j, pieces: pieces, left: -1}
	if offset == 0 {
		c.left = e.length()
	}
	return c, nil
}

// readAll reads content that fits into memory.
func (a *Archive) readAll(ctx context.Context, have []location, limit int64) ([]byte, error) {
	e := have[0].entry
	if e.length() > limit {
		return nil, fmt.Errorf("%s in the archive in %s has %d bytes, more than the %d that are allowed", e.path(), a.dirNames(), e.length(), limit)
	}
	body, err := a.open(ctx, have, 0, layout.Rest)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var raw bytes.Buffer
	raw.Grow(int(e.length()) + bytes.MinRead)
	if _, err := raw.ReadFrom(body); err != nil {
		return nil, err
	}
	return raw.Bytes(), nil
}

// A contentReader adds to errors where in the archive they happened.
type contentReader struct {
	io.ReadCloser
	archive     *Archive
	pieceReader *pieceReader
	pieces      []piece
	left        int64 // bytes to read; negative if reading began later, or is at its end
}

func (c *contentReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err == nil || err == io.EOF {
		if c.left -= int64(n); c.left == 0 {
			c.archive.setIntact(c.pieces)
			c.left = -1
		}
		return n, err
	}
	what, ok := readProblem(err)
	if !ok {
		return n, err
	}
	damage := &DamageError{Dir: c.archive.dirNames()}
	var corrupt *layout.CorruptError
	switch at := c.pieceReader.last; {
	case at == nil:
		at = &c.pieces[0]
		fallthrough
	case len(c.pieces) == 1 || !errors.As(err, &corrupt):
		damage.Damage = append(damage.Damage, at.damage(what))
	default:
		// The whole is wrong. The digests of the parts tell which one.
		damage.Damage = c.damagedParts(what)
	}
	return n, damage
}

// damagedParts finds the damaged parts.
func (c *contentReader) damagedParts(what string) []Damage {
	var damage []Damage
	for i := range c.pieces {
		// This check continues if the context of the caller ended the reading.
		if problem := c.archive.checkPiece(context.Background(), &c.pieces[i]); problem != "" {
			damage = append(damage, c.pieces[i].damage(problem))
		}
	}
	if len(damage) == 0 {
		damage = append(damage, c.pieces[0].damage("its parts are intact, but joined they are not the content: "+what))
	}
	return damage
}

// Verifies reports whether the bytes are compared with desc.
func (c *contentReader) Verifies(desc ocispec.Descriptor) bool {
	return layout.Verifies(c.ReadCloser, desc)
}

// Hashed returns the hash of what was read.
func (c *contentReader) Hashed() (h hash.Hash, n int64) { return layout.Hashed(c.ReadCloser) }
