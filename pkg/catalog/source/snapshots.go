package source

import (
	"context"
	"io"
	"io/fs"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/snapshot"
)

// Snapshots stores catalogs that were read from images, by the digest of the image, so that the
// next run need not read the layers. A missing or damaged snapshot is harmless: the image is read
// again.
type Snapshots interface {
	// Snapshot opens the snapshot of an image: a file that implements io.ReaderAt.
	Snapshot(root digest.Digest) (fs.File, error)
	// KeepSnapshot stores what write writes, and replaces an existing snapshot.
	KeepSnapshot(root digest.Digest, write func(io.Writer) error) error
}

// readStored reads the catalog from its snapshot, or else with read, and then stores a snapshot of
// it.
func (s *Source) readStored(ctx context.Context, options catalog.Options, read func(context.Context, catalog.Options) (*catalog.Catalog, error)) (*catalog.Catalog, error) {
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
	facts := []byte("{}") // only file-based images have facts
	if s.Kind == FileBased {
		if facts, err = s.Image.Facts(); err != nil {
			return nil, err
		}
	}
	// If the snapshot cannot be stored, the next run reads the image again.
	_ = s.from.Snapshots.KeepSnapshot(s.Digest, func(w io.Writer) error {
		return snapshot.Write(w, snapshot.Content{Root: s.Digest, Catalog: c, Options: options, Facts: facts, Before: before})
	})
	return c, nil
}

// openSnapshot opens the snapshot in a file. It returns nil if the file is unusable.
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
