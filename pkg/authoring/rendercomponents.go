package authoring

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// RenderComponentsOptions says which composite templates RenderComponents renders, and where to.
type RenderComponentsOptions struct {
	RenderOptions
	// OutputDir is the folder for all catalogs. It is required.
	OutputDir string
	// Files is the format of the files: folder.JSON, the default, or folder.YAML.
	Files folder.Form
}

// RenderComponents writes the components of composite templates as files, as opm does: at the path
// WORKINGDIR/PATH/OUTPUT of the template, below OutputDir. Existing files are replaced. Nothing is
// written unless OLM accepts every component. It returns the paths of the files.
func RenderComponents(ctx context.Context, o RenderComponentsOptions) ([]string, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.OutputDir == "" {
		return nil, env.InputHint("give a folder for the catalogs", "Options.OutputDir is missing")
	}
	if err := checkForm(o.Files); err != nil {
		return nil, err
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	var files []catalog.File
	for _, name := range o.Catalogs {
		src, err := openRendered(ctx, r, o.RenderOptions, name)
		if err != nil {
			return nil, err
		}
		if src.Components() == nil {
			return nil, env.InputHint("print it without Options.OutputDir", "%s is not a composite template, so it does not say what its files are called", name)
		}
		for _, c := range src.Components() {
			if o.Component != "" && c.Catalog != o.Component {
				continue
			}
			metas, err := src.RenderComponent(ctx, c)
			if err == nil {
				metas, err = checkComponent(metas, o.Migrate)
			}
			if err != nil {
				return nil, fmt.Errorf("%s for catalog %s: %w", c.Path, c.Catalog, err)
			}
			files = append(files, catalog.File{Path: c.Path, Metas: metas})
		}
	}
	var paths []string
	for _, f := range files {
		path := filepath.Join(o.OutputDir, filepath.FromSlash(f.Path))
		if slices.Contains(paths, path) {
			return nil, env.Inputf("two components are written to %s", path)
		}
		if err := writeComponent(path, f, o.Files); err != nil {
			return nil, fmt.Errorf("writing %s: %w", path, err)
		}
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil, env.Inputf("no template has a component for a catalog %q", o.Component)
	}
	return paths, nil
}

// checkComponent migrates the objects of a component, if requested, and validates them.
func checkComponent(metas []*catalog.Meta, migrate bool) (_ []*catalog.Meta, err error) {
	if migrate {
		for i := range metas {
			if metas[i], err = bundle.Migrate(metas[i]); err != nil {
				return nil, err
			}
		}
	}
	c, err := catalog.New(metas)
	if err != nil {
		return nil, err
	}
	return metas, validate.Catalog(c)
}

func writeComponent(path string, f catalog.File, form folder.Form) error {
	if err := durable.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return durable.Write(path, func(w io.Writer) error {
		if form != folder.YAML {
			_, err := f.WriteTo(w)
			return err
		}
		for _, m := range f.Metas {
			text, err := m.YAML()
			if err == nil {
				_, err = fmt.Fprintf(w, "---\n%s", text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
