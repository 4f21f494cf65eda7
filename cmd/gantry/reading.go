package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/layout"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/sqlite"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// readFlags are those of verbs that read catalogs and bring nothing anywhere.
type readFlags struct {
	sides
	workspace string
}

func (f *readFlags) addFlags(fs *pflag.FlagSet) {
	f.sides.addSourceFlags(fs)
	fs.StringVar(&f.workspace, "workspace", defaultWorkspace, "folder whose cache is used, where it exists")
}

// reading is a run's view of the sources. It holds no workspace, so that it
// disturbs no run that does, and leaves nothing behind.
type reading struct {
	origin *mirror.Origin
	cache  *layout.Layout
	folder string // of the cache, where it is to be removed
	// snapshots are of the workspace; nil where there is none, since nothing
	// would be read a second time.
	snapshots source.Snapshots
	warn      func(text string)
}

func (a *app) read(f *readFlags) (*reading, error) {
	client, err := a.client(&f.sides, remote.Source)
	if err != nil {
		return nil, err
	}
	r := &reading{warn: func(text string) { a.warn("%s", text) }}
	dir := workspace.CacheDir(strings.TrimPrefix(f.workspace, fileScheme))
	if _, err := os.Stat(dir); err == nil {
		r.snapshots = workspace.OpenSnapshots(dir)
	}
	if !writable(dir) { // not there, or somebody else's
		if r.folder, err = os.MkdirTemp("", "gantry-"); err != nil {
			return nil, fmt.Errorf("making a folder for what is read: %w", err)
		}
		dir = r.folder
	}
	if r.cache, err = layout.Create(dir, layout.Options{NoSync: true}); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.origin = mirror.NewOrigin(client, r.cache)
	return r, nil
}

// writable reports whether files can be made in a folder.
func writable(dir string) bool {
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return false
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name())) == nil
}

// close removes what was kept for this run alone.
func (r *reading) close() error {
	if r.folder == "" {
		return nil
	}
	return os.RemoveAll(r.folder)
}

// done is close for a defer: what remains is said.
func (a *app) done(r *reading) {
	if err := r.close(); err != nil {
		a.log.Warn("removing what was read", "error", err)
	}
}

// from is where plans are made from.
func (r *reading) from() plan.From {
	return plan.From{Images: r.origin.Planning(), Files: files{}, Store: r.cache, Database: sqlite.Stream, Snapshots: r.snapshots}
}

// source is where catalogs are read.
func (r *reading) source() source.From {
	from := r.from()
	return source.From{Images: from.Images, Files: from.Files, Database: from.Database, Snapshots: from.Snapshots, Warn: r.warn}
}

// open opens the catalog that an argument names: a scheme is taken as it stands,
// what exists on the disk is a folder or file, all else is a reference.
func (r *reading) open(ctx context.Context, arg string) (*source.Source, error) {
	name := strings.TrimPrefix(arg, dockerScheme)
	_, err := os.Stat(arg)
	switch {
	case strings.HasPrefix(arg, source.DirScheme), strings.HasPrefix(arg, ociScheme), name != arg:
	case err == nil, filepath.IsAbs(arg), strings.HasPrefix(arg, "."):
		name = source.DirScheme + arg
	case reference.IsShort(arg):
		return nil, usagef("%q is no file or folder here; if it is an image, write it with its registry and tag, such as quay.io/org/catalog:v1", arg)
	}
	local := strings.HasPrefix(name, source.DirScheme) || strings.HasPrefix(name, ociScheme)
	if _, err := reference.Parse(name); err != nil && !local {
		return nil, &usageError{err}
	}
	src, err := source.Open(ctx, r.source(), name)
	if errors.Is(err, fs.ErrNotExist) && local {
		return nil, &usageError{err}
	}
	return src, err
}

// read reads the catalog that an argument names.
func (r *reading) read(ctx context.Context, arg string, options catalog.Options) (*catalog.Catalog, error) {
	src, err := r.open(ctx, arg)
	if err != nil {
		return nil, err
	}
	return src.Read(ctx, options)
}
