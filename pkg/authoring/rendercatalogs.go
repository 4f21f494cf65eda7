package authoring

import (
	"bytes"
	"context"
	"os"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/catalog/template"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// RenderOptions says what RenderCatalogs reads.
type RenderOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Catalogs are images, folders and files: catalogs in any format, or bundles.
	Catalogs []string
	// Migrate replaces the manifests in olm.bundle.object by olm.csv.metadata.
	Migrate bool
	// Template requires that every argument is a catalog template. It may be a pipe then. Without it,
	// the file of a template is rendered, too.
	Template bool
	// CatalogConfig is the file with the catalogs of composite templates. The default is catalogs.yaml
	// beside the template. Component is the catalog whose components are rendered; it may be empty if
	// there is one.
	CatalogConfig, Component string
}

// RenderCatalogs calls each with every object of the catalogs, in a stable order. SQLite indexes and
// bundles are converted to objects, and templates are rendered. The objects are not validated;
// ValidateCatalog does that.
func RenderCatalogs(ctx context.Context, o RenderOptions, each func(*catalog.Meta) error) error {
	e, done := o.Env.OrDefault()
	defer done()
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return err
	}
	defer workspace.CloseSources(e, r)
	for _, name := range o.Catalogs {
		src, err := openRendered(ctx, r, o, name)
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

// openRendered opens an argument of RenderCatalogs.
func openRendered(ctx context.Context, r *workspace.Sources, o RenderOptions, name string) (*source.Source, error) {
	if !o.Template {
		if o.CatalogConfig != "" || o.Component != "" {
			return nil, env.Inputf("Options.CatalogConfig and Options.Component need Options.Template")
		}
		return r.Open(ctx, name)
	}
	r.Template = source.From{CatalogConfig: o.CatalogConfig, Component: o.Component}
	info, err := os.Stat(strings.TrimPrefix(name, source.DirScheme))
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		text, _, err := regular.ReadInput(name, template.MaxSize)
		if err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
		return source.OpenTemplate(r.Catalogs(), name, bytes.NewReader(text))
	}
	src, err := r.Open(ctx, name)
	if err == nil && src.Kind != source.Template {
		err = env.InputHint("render it without Options.Template", "%s is a %s, not a catalog template", redact.Address(name), src.Kind)
	}
	return src, err
}

// CompareCatalogsOptions says which catalogs CompareCatalogs compares.
type CompareCatalogsOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Old and New are images, folders or files.
	Old, New string
}

// CompareCatalogs returns the packages, channels, bundles, update edges and deprecations that changed
// from one catalog to another.
func CompareCatalogs(ctx context.Context, o CompareCatalogsOptions) (*diff.Diff, error) {
	e, done := o.Env.OrDefault()
	defer done()
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
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
