package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/image/layout"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/sqlite"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Sources are the sources of catalogs and images, with a cache. A run that opens them without a
// Session uses the cache of a workspace, if it exists, without locking it, or else a temporary cache.
type Sources struct {
	Origin *mirror.Origin

	Cache  *layout.Layout
	folder string // the temporary cache, or ""
	// snapshots are the parsed catalogs of the workspace; nil without one.
	snapshots source.Snapshots
	warn      func(text string)
	Template  source.From // the fields for templates
}

// OpenSources makes the client for the sources, with the cache of the workspace in a folder, if it
// exists, or with the cache in Env.CacheDir. Close releases them.
func OpenSources(e *env.Env, workspaceFolder string) (*Sources, error) {
	client, err := e.Client(remote.Source)
	if err != nil {
		return nil, err
	}
	r := &Sources{warn: func(text string) { e.Warnf("%s", text) }}
	dir := CacheDir(e, strings.TrimPrefix(workspaceFolder, env.ArchiveScheme))
	if e.CacheDir != "" {
		if err := durable.MkdirAll(dir, 0o755); err != nil {
			return nil, adviseCache(e, fmt.Errorf("making the cache: %w", err))
		}
	}
	if _, err := os.Stat(dir); err == nil {
		r.snapshots = state.OpenSnapshots(dir)
	}
	if !writable(dir) { // it does not exist, or belongs to another user
		if r.folder, err = os.MkdirTemp("", "gantry-"); err != nil {
			return nil, fmt.Errorf("creating a temporary cache: %w", err)
		}
		dir = r.folder
	}
	if r.Cache, err = layout.Create(dir, layout.Options{NoSync: true}); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.Origin = mirror.NewOrigin(client, r.Cache)
	return r, nil
}

// KeepCatalogs stores catalogs until Close if there is no workspace, so that each is downloaded once.
func (r *Sources) KeepCatalogs() {
	if r.snapshots == nil && r.folder != "" {
		r.snapshots = state.OpenSnapshots(r.folder)
	}
}

// writable reports whether files can be made in a folder.
func writable(dir string) bool {
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return false
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name())) == nil
}

// Close removes the temporary cache.
func (r *Sources) Close() error {
	if r.folder == "" {
		return nil
	}
	return os.RemoveAll(r.folder)
}

// Plan returns what plans are made from.
func (r *Sources) Plan() build.Sources {
	return build.Sources{Images: r.Origin.Planning(), Files: env.LocalFiles{}, Store: r.Cache, Databases: sqlite.Reader{}, Snapshots: r.snapshots, Tags: r.Origin, TagLists: r.Origin, Attachments: r.Origin,
		Downloads: downloads{Origin: r.Origin}}
}

// downloads are the files of web servers and of this machine.
type downloads struct {
	*mirror.Origin
	env.LocalFiles
}

// Catalogs returns what catalogs are read from.
func (r *Sources) Catalogs() source.From {
	from := r.Plan()
	return source.From{Images: from.Images, Files: from.Files, Databases: from.Databases, Snapshots: from.Snapshots, Tags: from.Tags, Warn: r.warn,
		CatalogConfig: r.Template.CatalogConfig, Component: r.Template.Component}
}

// Open opens the catalog that an argument names: a text with a scheme as it is, a folder or file if it
// exists, or else a reference.
func (r *Sources) Open(ctx context.Context, arg string) (*source.Source, error) {
	name := strings.TrimPrefix(arg, env.RegistryScheme)
	_, err := os.Stat(arg)
	switch {
	case strings.HasPrefix(arg, source.DirScheme), strings.HasPrefix(arg, env.LayoutScheme), name != arg:
	case err == nil, filepath.IsAbs(arg), strings.HasPrefix(arg, "."):
		name = source.DirScheme + arg
	case reference.IsShort(arg):
		return nil, env.Inputf("%q is not a file or folder; if it is an image, write it with its registry and tag, such as quay.io/org/catalog:v1", redact.Address(arg))
	}
	local := strings.HasPrefix(name, source.DirScheme) || strings.HasPrefix(name, env.LayoutScheme)
	if _, err := reference.Parse(name); err != nil && !local {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	src, err := source.Open(ctx, r.Catalogs(), name)
	if errors.Is(err, fs.ErrNotExist) && local {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	return src, err
}

// Read reads the catalog that an argument names.
func (r *Sources) Read(ctx context.Context, arg string, options catalog.Options) (*catalog.Catalog, error) {
	src, err := r.Open(ctx, arg)
	if err != nil {
		return nil, err
	}
	return src.Read(ctx, options)
}

// CloseSources closes sources in a defer. An error is logged.
func CloseSources(e *env.Env, r *Sources) {
	if err := r.Close(); err != nil {
		e.Logger().Warn("removing the files of this run", "error", err)
	}
}
