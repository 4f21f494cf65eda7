package layout

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/file/durable"
)

// Put reads a blob from r and stores it if it is the content that desc describes. Otherwise it
// returns a *CorruptError or the error of r, and stores nothing. When Put returns nil, the blob is
// durable, unless Options.NoSync is set. A blob that already exists in its full length is not read
// again. The caller closes r.
func (l *Layout) Put(ctx context.Context, desc ocispec.Descriptor, r io.Reader) error {
	if err := CheckDigest(desc.Digest); err != nil {
		return err
	}
	if l.Has(desc) {
		return nil
	}
	source, ok := r.(io.ReadCloser) // which may verify itself
	if !ok {
		source = io.NopCloser(r)
	}
	body, err := Verified(ctx, source, desc, "what was read")
	if err != nil {
		return err
	}
	d, err := l.draft(desc.Digest.Algorithm())
	if err == nil {
		_, err = io.CopyBuffer(d, body, make([]byte, min(desc.Size+1, maxCopy)))
		err = l.end(ctx, d, desc.Digest, err)
	}
	if err != nil {
		return fmt.Errorf("writing blob %s to %s: %w", desc.Digest, l.root.Name(), err)
	}
	return nil
}

// maxCopy is the size of the buffer for content, in bytes. Most of what a cache gets is far smaller.
const maxCopy = 32 << 10

// Write stores what write writes as a blob, and returns its digest (sha256) and size. If write
// returns an error, nothing is stored.
func (l *Layout) Write(ctx context.Context, mediaType string, write func(io.Writer) error) (ocispec.Descriptor, error) {
	var desc ocispec.Descriptor
	d, err := l.draft(digest.SHA256)
	if err == nil {
		w := &hashing{ctx: ctx, to: d, hash: sha256.New()}
		err = write(w)
		desc = ocispec.Descriptor{MediaType: mediaType, Digest: digest.NewDigest(digest.SHA256, w.hash), Size: w.n}
		err = l.end(ctx, d, desc.Digest, err)
	}
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("writing a blob to %s: %w", l.root.Name(), err)
	}
	return desc, nil
}

// hashing counts and hashes the bytes that it passes on, until ctx ends.
type hashing struct {
	ctx  context.Context
	to   io.Writer
	hash hash.Hash
	n    int64
}

func (w *hashing) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	n, err := w.to.Write(p)
	_, _ = w.hash.Write(p[:n]) // a hash never returns an error
	w.n += int64(n)
	return n, err
}

// draft starts a blob in the folder of an algorithm, which it creates if necessary.
func (l *Layout) draft(a digest.Algorithm) (*durable.Draft, error) {
	folder, err := l.folder(a)
	if err == nil {
		var d *durable.Draft
		if d, err = folder.Draft("."); err == nil {
			return d, nil
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if folder, err = l.createFolder(a); err != nil {
		return nil, err
	}
	return folder.Draft(".")
}

// end gives the draft the name of its digest. If err or ctx reports that it is not complete, it deletes the
// draft.
func (l *Layout) end(ctx context.Context, d *durable.Draft, of digest.Digest, err error) error {
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, d.Discard())
	}
	if err := d.Commit(of.Encoded()); err != nil {
		return err
	}
	if l.written != nil {
		l.written.add(of)
	}
	return nil
}
