package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/manifest"
)

// wanted says which sets are built on and not here.
func (a *Archive) wanted() error {
	if len(a.absent) == 0 {
		return fs.ErrNotExist
	}
	b := a.absent[0]
	if b.why != nil {
		return fmt.Errorf("%s, which %s builds on, cannot be read: %w: %w", setName(b.Sequence), a.set.id().manifest(), b.why, fs.ErrNotExist)
	}
	return fmt.Errorf("%s (%s), which %s builds on, is not in %s: %w", setName(b.Sequence), b.Set, a.set.id().manifest(), a.dir(), fs.ErrNotExist)
}

// Manifest returns a manifest of the archive. from is ignored: content is found
// by its digest. A manifest that the archive lacks wraps fs.ErrNotExist.
func (a *Archive) Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	have := places(a.blobs, d)
	if len(have) == 0 {
		return ocispec.Descriptor{}, nil, a.lacks(ocispec.Descriptor{Digest: d})
	}
	raw, err := a.content(ctx, have, manifest.MaxSize)
	return ocispec.Descriptor{MediaType: have[0].entry.MediaType, Digest: d, Size: have[0].entry.length()}, raw, err
}

// Blob opens content of the archive, in place, at offset; content that lies in
// parts is one stream. from is ignored: content is found by its digest. Content that
// the archive lacks wraps fs.ErrNotExist; content that was altered ends in a
// *DamageError in place of io.EOF, if it was read from offset 0 on. What is there
// more than once, in a repair for example, is read from where it is sound.
func (a *Archive) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	have := places(a.blobs, desc.Digest)
	if len(have) == 0 {
		return nil, a.lacks(desc)
	}
	if size := have[0].entry.length(); size != desc.Size {
		return nil, fmt.Errorf("the archive in %s has %s with %d bytes, not %d", a.dir(), desc.Digest, size, desc.Size)
	}
	return a.open(ctx, have, offset)
}

// lacks is the error for content that no set has.
func (a *Archive) lacks(desc ocispec.Descriptor) error {
	for _, m := range a.members {
		if m.locked() {
			return fmt.Errorf("looking for %s: %w", desc.Digest, a.lockedError(m.outer, a.dirs[m.dir], nil))
		}
	}
	if repository := a.where[desc.Digest]; repository != "" {
		return fmt.Errorf("the archive in %s has no %s, which an earlier one brought to %s: %w", a.dir(), desc.Digest, repository, a.wanted())
	}
	return fmt.Errorf("the archive in %s has no %s: %w", a.dir(), desc.Digest, a.wanted())
}

func (a *Archive) open(ctx context.Context, have []place, offset int64) (io.ReadCloser, error) {
	e := have[0].entry
	if offset < 0 || offset > e.length() {
		return nil, fmt.Errorf("reading %s of the archive in %s from byte %d: it has %d", e.Digest, a.dir(), offset, e.length())
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	pieces, err := a.choose(ctx, have)
	if err != nil {
		return nil, err
	}
	j := &joined{pieces: pieces, at: offset, size: e.length()}
	body, err := layout.Rest(ctx, j, whole(e), offset, e.path())
	if err != nil {
		return nil, err
	}
	return &content{ReadCloser: body, archive: a, joined: j, pieces: pieces}, nil
}

// content reads content that is short enough to be held.
func (a *Archive) content(ctx context.Context, have []place, limit int64) ([]byte, error) {
	e := have[0].entry
	if e.length() > limit {
		return nil, fmt.Errorf("%s in the archive in %s has %d bytes, more than the %d that are allowed", e.path(), a.dir(), e.length(), limit)
	}
	body, err := a.open(ctx, have, 0)
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

// content says where in the archive an error happened.
type content struct {
	io.ReadCloser
	archive *Archive
	joined  *joined
	pieces  []piece
}

func (c *content) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	what, ok := problem(err)
	if !ok {
		return n, err
	}
	damage := &DamageError{Dir: c.archive.dir()}
	var corrupt *layout.CorruptError
	switch at := c.joined.last; {
	case at == nil:
		at = &c.pieces[0]
		fallthrough
	case len(c.pieces) == 1 || !errors.As(err, &corrupt):
		damage.Damage = append(damage.Damage, at.damage(what))
	default:
		// The whole is wrong; which part it is, their own digests tell.
		damage.Damage = c.wrong(what)
	}
	return n, damage
}

// wrong finds the parts that are damaged.
func (c *content) wrong(what string) []Damage {
	var damage []Damage
	for i := range c.pieces {
		// The reading itself may have ended with its context: this does not.
		if problem := c.archive.sound(context.Background(), &c.pieces[i]); problem != "" {
			damage = append(damage, c.pieces[i].damage(problem))
		}
	}
	if len(damage) == 0 {
		damage = append(damage, c.pieces[0].damage("its parts are sound, joined they are not the content: "+what))
	}
	return damage
}

// Verifies reports whether the bytes are compared with desc.
func (c *content) Verifies(desc ocispec.Descriptor) bool {
	return layout.Verifies(c.ReadCloser, desc)
}

// Hashed hands on the hash of what was read.
func (c *content) Hashed() (h hash.Hash, n int64) { return layout.Hashed(c.ReadCloser) }

// problem is what is said of an entry that was read with an error. ok is false
// for an error that is not the medium's, such as the end of a context.
func problem(err error) (what string, ok bool) {
	var corrupt *layout.CorruptError
	var failed *fs.PathError
	switch {
	case errors.As(err, &corrupt):
		return corrupt.Problem, true
	case errors.As(err, &failed) && !errors.Is(err, fs.ErrClosed):
		return fmt.Sprintf("unreadable: %v", failed.Err), true
	}
	return "", false
}

// problemOf is what is said of a file that could not be opened or read.
func problemOf(err error) string {
	if what, ok := problem(err); ok {
		return what
	}
	return err.Error()
}

// bytesUntilZero reads text that is padded with zeros.
func bytesUntilZero(raw []byte) io.Reader {
	text, _, _ := bytes.Cut(raw, []byte{0})
	return bytes.NewReader(text)
}
