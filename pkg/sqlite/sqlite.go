// Package sqlite reads the catalogs of the time before file-based ones: operator
// indexes in an SQLite database, which public catalogs were until OpenShift 4.11.
//
// The tables say what packages, channels and bundles there are. A channel_entry is
// one way into a bundle, so a bundle has as many entries in a channel as it has
// edges; which of them is the replaces and which are skips follows from walking
// the channel from its head. The database keeps the manifests of bundles that are
// channel heads only, and of those that have no image.
//
// Stream and StreamFile give the objects of the file-based catalog that says the
// same, one after the other: each package, its channels, its bundles. They are
// those of `opm render` (operator-registry v1.73.0, the last that reads such
// databases), with olm.bundle.object properties wherever the database has
// manifests, since every opm that can serve the result can read these;
// bundle.Migrate makes the smaller olm.csv.metadata of them. A bundle with the
// property olm.deprecated is left out, and so is a channel or package of which
// nothing remains.
//
// A database comes from a registry and may be hostile. It is opened for reading
// only, checked page by page, must have plain tables of the expected columns, and
// is read with limits on everything that is held; nothing in it is executed.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Limits on a database.
const (
	maxDatabase = 4 << 30
	// maxManifests is how many bytes the manifests of a bundle may have, so that
	// the object is not longer than package catalog reads.
	maxManifests = 11 << 20
	// maxValues is how many bytes the properties of a bundle, or the entries of
	// a package, may have.
	maxValues = 16 << 20
)

// Stream gives every object of the index in a database to each, in an order that
// is always the same, and holds none of them. The database is kept in a temporary
// file meanwhile, and may have 4 GiB. It ends with the first error of each.
func Stream(ctx context.Context, db io.Reader, each func(*catalog.Meta) error) (err error) {
	f, err := os.CreateTemp("", "gantry-index-*.db") // with mode 0600
	if err != nil {
		return fmt.Errorf("keeping the index database in a temporary file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	n, err := io.Copy(f, io.LimitReader(&cancelled{ctx, db}, maxDatabase+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keeping the index database in a temporary file: %w", err)
	}
	if n > maxDatabase {
		return fmt.Errorf("reading the index database: it has more than %d bytes", int64(maxDatabase))
	}
	return StreamFile(ctx, f.Name(), each)
}

// StreamFile is [Stream] for a database in a file. A database that somebody may be
// writing to, which a journal beside it tells, is an error, and so is one in WAL
// mode, of which a part may be elsewhere.
func StreamFile(ctx context.Context, path string, each func(*catalog.Meta) error) (err error) {
	if err := check(path); err != nil {
		return fmt.Errorf("reading the index database: %w", err)
	}
	x, err := open(ctx, path)
	if err != nil {
		return fmt.Errorf("reading the index database: %w", explained(ctx, err))
	}
	defer func() { err = errors.Join(err, x.close()) }()
	if err := x.stream(ctx, each); err != nil {
		return fmt.Errorf("reading the index database: %w", explained(ctx, err))
	}
	return nil
}

// A cancelled reader ends with its context.
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
