package layout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// CheckDigest returns an error unless d is a well-formed digest of an algorithm that the image
// specification registers: sha256 or sha512.
func CheckDigest(d digest.Digest) error {
	if !reference.IsKnownDigest(d) {
		return fmt.Errorf("digest %q: %w", d, d.Validate())
	}
	if a := d.Algorithm(); a != digest.SHA256 && a != digest.SHA512 {
		return fmt.Errorf("digest %s: only sha256 and sha512 are known", d)
	}
	return nil
}

// BlobPath returns the slash-separated path of the blob d in a layout. CheckDigest must accept the
// digest.
func BlobPath(d digest.Digest) string {
	return blobDir(d.Algorithm()) + "/" + d.Encoded()
}

func blobDir(algorithm digest.Algorithm) string {
	return ocispec.ImageBlobsDir + "/" + algorithm.String()
}

// Size returns the size of the blob d in bytes, and whether the layout has it. The content is not
// checked. In a cache that this process created, it may not find what another process wrote.
func (l *Layout) Size(d digest.Digest) (int64, bool) {
	if CheckDigest(d) != nil {
		return 0, false
	}
	if l.written != nil && !l.written.has(d) {
		return 0, false
	}
	folder, err := l.folder(d.Algorithm())
	if err != nil {
		return 0, false
	}
	info, err := folder.Root.Lstat(d.Encoded())
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// Has reports whether the layout has the blob in its full length. The content is not checked.
func (l *Layout) Has(desc ocispec.Descriptor) bool {
	size, ok := l.Size(desc.Digest)
	return ok && size == desc.Size
}

// Blob opens a blob at offset. If the blob does not exist, the error matches fs.ErrNotExist; if it
// has another length, the error is a *CorruptError. If it is read from offset 0 and has another
// digest, the stream ends with a *CorruptError instead of io.EOF.
func (l *Layout) Blob(ctx context.Context, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	if err := CheckDigest(desc.Digest); err != nil {
		return nil, err
	}
	var f *os.File
	var info fs.FileInfo
	folder, err := l.folder(desc.Digest.Algorithm())
	if err == nil {
		f, info, err = regular.Open(folder.Root, desc.Digest.Encoded())
	}
	if err != nil {
		return nil, fmt.Errorf("reading blob %s of %s: %w", desc.Digest, l.root.Name(), err)
	}
	where := l.path(BlobPath(desc.Digest))
	if info.Size() != desc.Size {
		err := &CorruptError{Digest: desc.Digest, Where: where, Problem: fmt.Sprintf("it has %d bytes instead of %d", info.Size(), desc.Size)}
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("reading blob %s of %s from byte %d: %w", desc.Digest, l.root.Name(), offset, err), f.Close())
	}
	body, err := Rest(ctx, f, desc, offset, where)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return body, nil
}

// Check reads a whole blob and compares it with desc. If tell is not nil, it is called with the
// number of bytes read since the last call. The errors are the errors of Blob.
func (l *Layout) Check(ctx context.Context, desc ocispec.Descriptor, tell func(n int64)) error {
	body, err := l.Blob(ctx, desc, 0)
	if err != nil {
		return err
	}
	defer body.Close() // only read from
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		if tell != nil {
			tell(int64(n))
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// Blobs returns the digests in the file names of the blobs, without checking their content and in
// no order. Files whose names are not digests are skipped.
func (l *Layout) Blobs() ([]ocispec.Descriptor, error) {
	var all []ocispec.Descriptor
	for _, algorithm := range []digest.Algorithm{digest.SHA256, digest.SHA512} {
		entries, err := fs.ReadDir(l.root.FS(), blobDir(algorithm))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("listing the blobs of %s: %w", l.root.Name(), err)
		}
		for _, e := range entries {
			d := digest.NewDigestFromEncoded(algorithm, e.Name())
			if size, ok := l.Size(d); ok {
				all = append(all, ocispec.Descriptor{Digest: d, Size: size})
			}
		}
	}
	return all, nil
}

// Read reads a whole blob of at most limit bytes.
func (l *Layout) Read(ctx context.Context, desc ocispec.Descriptor, limit int64) ([]byte, error) {
	if desc.Size > limit {
		return nil, fmt.Errorf("reading blob %s of %s: it has %d bytes, more than the %d that are allowed", desc.Digest, l.root.Name(), desc.Size, limit)
	}
	body, err := l.Blob(ctx, desc, 0)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var raw bytes.Buffer
	raw.Grow(int(desc.Size) + bytes.MinRead)
	if _, err := raw.ReadFrom(body); err != nil {
		return nil, err
	}
	return raw.Bytes(), nil
}

// Remove deletes a blob, for example one that is corrupt. A blob that does not exist is not an
// error.
func (l *Layout) Remove(desc ocispec.Descriptor) error {
	if err := CheckDigest(desc.Digest); err != nil {
		return err
	}
	folder, err := l.folder(desc.Digest.Algorithm())
	if err == nil {
		err = folder.Root.Remove(desc.Digest.Encoded())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing blob %s of %s: %w", desc.Digest, l.root.Name(), err)
	}
	return nil
}
