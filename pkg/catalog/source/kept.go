package source

import (
	"context"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/snapshot"
)

// Snapshots keeps from run to run what was read out of images, by the digest of
// the image, so that the layers need not be read again. It is nobody's only copy:
// what is gone or damaged is read from the image.
type Snapshots interface {
	// Snapshot opens what is kept of an image: a file that implements io.ReaderAt.
	Snapshot(root digest.Digest) (fs.File, error)
	// KeepSnapshot keeps what write writes, in place of what was kept.
	KeepSnapshot(root digest.Digest, write func(io.Writer) error) error
}

// kept reads the catalog from its snapshot, or with read, of which it then keeps
// a snapshot.
func (s *Source) kept(ctx context.Context, options catalog.Options, read func(context.Context, catalog.Options) (*catalog.Catalog, error)) (*catalog.Catalog, error) {
	var before *snapshot.Snapshot
	if stored, err := s.from.Snapshots.Snapshot(s.Digest); err == nil {
		defer stored.Close() // only read from
		if before = s.openSnapshot(stored); before != nil {
			if c, err := s.restore(before, options); err == nil {
				return c, nil
			}
		}
	}
	c, err := read(ctx, options)
	if err != nil {
		return nil, err
	}
	facts := []byte("{}") // of an image that nobody builds on
	if s.Kind == FileBased {
		if facts, err = s.Image.Facts(); err != nil {
			return nil, err
		}
	}
	// Where the snapshot cannot be kept, the next run reads the image again.
	_ = s.from.Snapshots.KeepSnapshot(s.Digest, func(w io.Writer) error {
		return snapshot.Write(w, snapshot.Content{Root: s.Digest, Catalog: c, Options: options, Facts: facts, Before: before})
	})
	return c, nil
}

// openSnapshot is the snapshot in a file, nil where that is of no use.
func (s *Source) openSnapshot(f fs.File) *snapshot.Snapshot {
	info, err := f.Stat()
	r, ok := f.(io.ReaderAt)
	if err != nil || !ok {
		return nil
	}
	opened, err := snapshot.Open(r, info.Size(), s.Digest)
	if err != nil {
		return nil
	}
	return opened
}

func (s *Source) restore(from *snapshot.Snapshot, options catalog.Options) (*catalog.Catalog, error) {
	c, err := from.Catalog(options)
	if err == nil && s.Kind == FileBased {
		err = s.Image.Restore(from.Facts())
	}
	return c, err
}
