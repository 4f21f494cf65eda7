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

// Plan returns the plan that came with the content.
func (a *Archive) Plan(ctx context.Context) ([]byte, error) {
	p := a.files[planPath] // parseSet saw it
	return a.read(ctx, p, maxPlan)
}

// OpenPlan is Plan for one that is not to be held in memory. One that was altered
// ends in a *DamageError in place of io.EOF.
func (a *Archive) OpenPlan(ctx context.Context) (io.ReadCloser, error) {
	return a.open(ctx, a.files[planPath], 0)
}

// PlanDigest is what the set manifest says that the plan's digest is.
func (a *Archive) PlanDigest() digest.Digest { return a.set.Plan }

// Manifest returns a manifest of the archive. from is ignored: content is found
// by its digest. A manifest that the archive lacks wraps fs.ErrNotExist.
func (a *Archive) Manifest(ctx context.Context, from string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	p, ok := a.place(d)
	if !ok {
		return ocispec.Descriptor{}, nil, a.lacks(d)
	}
	raw, err := a.read(ctx, p, manifest.MaxSize)
	return ocispec.Descriptor{MediaType: p.entry.MediaType, Digest: d, Size: p.entry.Size}, raw, err
}

// Blob opens content of the archive, in place, at offset. from is ignored:
// content is found by its digest. Content that the archive lacks wraps
// fs.ErrNotExist; content that was altered ends in a *DamageError in place of
// io.EOF, if it was read from offset 0 on.
func (a *Archive) Blob(ctx context.Context, from string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	p, ok := a.place(desc.Digest)
	if !ok {
		return nil, a.lacks(desc.Digest)
	}
	if p.entry.Size != desc.Size {
		return nil, fmt.Errorf("the archive in %s has %s with %d bytes, not %d", a.root.Name(), desc.Digest, p.entry.Size, desc.Size)
	}
	return a.open(ctx, p, offset)
}

func (a *Archive) lacks(d digest.Digest) error {
	return fmt.Errorf("the archive in %s has no %s: %w", a.root.Name(), d, fs.ErrNotExist)
}

func (a *Archive) open(ctx context.Context, p place, offset int64) (io.ReadCloser, error) {
	e := p.entry
	if a.volumes[p.volume] == nil { // only where it was opened with Inspect
		return nil, &DamageError{Dir: a.root.Name(), Damage: []Damage{{File: a.set.Volumes[p.volume].Name, Problem: a.unfit[p.volume]}}}
	}
	section := io.NewSectionReader(a.volumes[p.volume], e.Offset, e.Size)
	if _, err := section.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading %s of the archive in %s from byte %d: %w", e.path(), a.root.Name(), offset, err)
	}
	body, err := layout.Rest(ctx, io.NopCloser(section), ocispec.Descriptor{Digest: e.Digest, Size: e.Size}, offset, e.path())
	if err != nil {
		return nil, err
	}
	return &content{ReadCloser: body, archive: a, place: p}, nil
}

func (a *Archive) read(ctx context.Context, p place, limit int64) ([]byte, error) {
	if p.entry.Size > limit {
		return nil, fmt.Errorf("%s in the archive in %s has %d bytes, more than the %d that are allowed", p.entry.path(), a.root.Name(), p.entry.Size, limit)
	}
	body, err := a.open(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var raw bytes.Buffer
	raw.Grow(int(p.entry.Size) + bytes.MinRead)
	if _, err := raw.ReadFrom(body); err != nil {
		return nil, err
	}
	return raw.Bytes(), nil
}

// content says where in the archive an error happened.
type content struct {
	io.ReadCloser
	archive *Archive
	place   place
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
	v, e := &c.archive.set.Volumes[c.place.volume], c.place.entry
	return n, &DamageError{Dir: c.archive.root.Name(), Damage: []Damage{{File: v.Name, Entry: e.path(), Offset: e.Offset, Problem: what}}}
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
