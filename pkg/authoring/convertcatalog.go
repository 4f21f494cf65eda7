package authoring

import (
	"cmp"
	"context"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// ConvertOptions says which catalog ConvertCatalog converts, and where it writes the result.
type ConvertOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Catalog is an image, a folder or a file, in any format.
	Catalog string
	// OutputDir is the folder for the catalog. It is required.
	OutputDir string
	// Files is the format of the files: folder.JSON, the default, or folder.YAML.
	Files folder.Form
	// Migrate replaces the manifests in olm.bundle.object by olm.csv.metadata.
	Migrate bool
}

// A Converted catalog is the result of ConvertCatalog. Its JSON is what gantry catalog convert --output
// json prints.
type Converted struct {
	Version  int      `json:"version"`
	Folder   string   `json:"folder"`
	Packages []string `json:"packages"`
}

// ConvertCatalog writes a catalog to a folder of file-based catalog files, in the layout of opm. The
// folder appears only when it is complete. A folder with other files in it is an error.
func ConvertCatalog(ctx context.Context, o ConvertOptions) (*Converted, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.OutputDir == "" {
		return nil, env.InputHint("give a folder for the catalog", "Options.OutputDir is missing")
	}
	if err := checkForm(o.Files); err != nil {
		return nil, err
	}
	if err := folder.Check(o.OutputDir); err != nil {
		return nil, foreignFolder(err)
	}
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	c, err := r.Read(ctx, o.Catalog, catalog.Options{Pack: !o.Migrate})
	if err == nil && o.Migrate {
		c, err = migrateCatalog(c)
	}
	if err != nil {
		return nil, err
	}
	if err := folder.Write(ctx, o.OutputDir, c, cmp.Or(o.Files, folder.JSON)); err != nil {
		return nil, foreignFolder(err)
	}
	return &Converted{Version: 1, Folder: o.OutputDir, Packages: c.Names}, nil
}

// migrateCatalog returns a catalog with olm.csv.metadata in place of olm.bundle.object.
func migrateCatalog(c *catalog.Catalog) (*catalog.Catalog, error) {
	metas := slices.Clone(c.Others)
	for _, p := range c.Packages {
		metas = append(metas, p.Objects()...)
	}
	for i := range metas {
		var err error
		if metas[i], err = bundle.Migrate(metas[i]); err != nil {
			return nil, err
		}
	}
	return catalog.New(metas)
}

// checkForm returns an error if the format of a catalog's files is unknown.
func checkForm(form folder.Form) error {
	switch form {
	case "", folder.JSON, folder.YAML:
		return nil
	}
	return env.Inputf("Options.Files %q: give json or yaml", form)
}
