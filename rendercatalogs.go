package gantry

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
)

// RenderOptions says what RenderCatalogs reads.
type RenderOptions struct {
	Env *Env
	// Workspace is the folder whose cache is used, if it exists. The default is DefaultWorkspace.
	Workspace string
	// Catalogs are images, folders and files: catalogs in any format, or bundles.
	Catalogs []string
	// Migrate replaces the manifests in olm.bundle.object by olm.csv.metadata.
	Migrate bool
}

// RenderCatalogs calls each with every object of the catalogs, in a stable order. SQLite indexes and
// bundles are converted to objects. The objects are not validated; ValidateCatalog does that.
func RenderCatalogs(ctx context.Context, o RenderOptions, each func(*catalog.Meta) error) error {
	e, done := o.Env.orDefault()
	defer done()
	r, err := e.OpenSources(workspaceDir(o.Workspace))
	if err != nil {
		return err
	}
	defer e.closeSources(r)
	for _, name := range o.Catalogs {
		src, err := r.Open(ctx, name)
		if err != nil {
			return err
		}
		err = src.Stream(ctx, func(m *catalog.Meta) (err error) {
			if o.Migrate {
				if m, err = bundle.Migrate(m); err != nil {
					return err
				}
			}
			return each(m)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// CompareCatalogsOptions says which catalogs CompareCatalogs compares.
type CompareCatalogsOptions struct {
	Env *Env
	// Workspace is the folder whose cache is used, if it exists. The default is DefaultWorkspace.
	Workspace string
	// Old and New are images, folders or files.
	Old, New string
}

// CompareCatalogs returns the packages, channels, bundles, update edges and deprecations that changed
// from one catalog to another.
func CompareCatalogs(ctx context.Context, o CompareCatalogsOptions) (*diff.Diff, error) {
	e, done := o.Env.orDefault()
	defer done()
	r, err := e.OpenSources(workspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer e.closeSources(r)
	before, err := r.Read(ctx, o.Old, catalog.Options{})
	if err != nil {
		return nil, err
	}
	after, err := r.Read(ctx, o.New, catalog.Options{})
	if err != nil {
		return nil, err
	}
	return diff.Compare(before, after), nil
}
