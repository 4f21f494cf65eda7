// Package sqlite reads operator indexes in an SQLite database, the format before file-based
// catalogs. Public catalogs used it until OpenShift 4.11.
//
// The tables list packages, channels and bundles. A channel_entry is one edge to a bundle, so a
// bundle has as many rows in a channel as it has edges; which of them is the replaces and which are
// skips follows from walking the channel from its head. The database contains manifests only for
// bundles that are channel heads and for those without an image.
//
// A [Reader] returns the objects of the equivalent file-based catalog one by one:
// each package, its channels, its bundles. They are those of `opm render` (operator-registry
// v1.73.0, the last version that reads such databases), with olm.bundle.object properties for all
// manifests in the database, since every opm that can serve the result can read these;
// bundle.Migrate converts them to the smaller olm.csv.metadata. A bundle with the property
// olm.deprecated is omitted, and so is a channel or package that would be empty.
//
// A database comes from a registry and may be hostile. It is opened read-only, checked page by
// page, must have plain tables with the expected columns, and is read with limits on memory;
// nothing in it is executed.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Limits on a database.
const (
	maxDatabase = 4 << 30
	// maxManifests is the maximum size of the manifests of a bundle in bytes, so that the object
	// does not exceed the limit of package catalog.
	maxManifests = 11 << 20
	// maxValues is the maximum size in bytes of the properties of a bundle, or of the entries of a
	// package.
	maxValues = 16 << 20
)

// A Reader reads indexes. Its zero value is ready.
type Reader struct{}

// Stream calls each for every object of the index in a database, always in the same order, and
// keeps none of them. Meanwhile the database, at most 4 GiB, is in a temporary file. It ends with
// the first error of each.
func (Reader) Stream(ctx context.Context, db io.Reader, each func(*catalog.Meta) error) error {
	if err := streamCopy(ctx, db, nil, each); err != nil {
		return fmt.Errorf("reading the index database: %w", err)
	}
	return nil
}

// StreamFile is [Reader.Stream] for a database in a folder, which may be in use by another program.
// A database with an unfinished transaction is an error: a journal is beside it, or it changes
// while it is read. So is a database in WAL mode, because a part of it may be in another file.
func (Reader) StreamFile(ctx context.Context, fsys fs.FS, name string, each func(*catalog.Meta) error) error {
	if err := streamFile(ctx, fsys, name, each); err != nil {
		return fmt.Errorf("reading the index database: %w", err)
	}
	return nil
}

func streamFile(ctx context.Context, fsys fs.FS, name string, each func(*catalog.Meta) error) (err error) {
	before, err := inspect(fsys, name)
	if err != nil {
		return err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	unchanged := func() error {
		after, err := inspect(fsys, name)
		if err == nil && after != before {
			err = errors.New("the database was changed while it was read; run again when no program writes to it")
		}
		return err
	}
	return streamCopy(ctx, f, unchanged, each)
}

// streamCopy copies a database to a temporary file, calls copied, if set, and streams the copy.
func streamCopy(ctx context.Context, db io.Reader, copied func() error, each func(*catalog.Meta) error) (err error) {
	f, err := os.CreateTemp("", "gantry-index-*.db") // with mode 0600
	if err != nil {
		return fmt.Errorf("copying it to a temporary file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	n, err := io.Copy(f, io.LimitReader(&cancelled{ctx, db}, maxDatabase+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("copying it to a temporary file: %w", err)
	}
	if n > maxDatabase {
		return fmt.Errorf("more than %d bytes", int64(maxDatabase))
	}
	if copied != nil {
		if err := copied(); err != nil {
			return err
		}
	}
	return streamPath(ctx, f.Name(), each)
}

// streamPath streams a database that no other program uses.
func streamPath(ctx context.Context, path string, each func(*catalog.Meta) error) (err error) {
	if err := check(path); err != nil {
		return err
	}
	x, err := open(ctx, path)
	if err != nil {
		return explained(ctx, err)
	}
	defer func() { err = errors.Join(err, x.close()) }()
	if err := x.stream(ctx, each); err != nil {
		return explained(ctx, err)
	}
	return nil
}

// A cancelled reader stops with its context.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
