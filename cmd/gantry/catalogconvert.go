package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
)

func (a *app) catalogConvertCommand() *cobra.Command {
	var f readFlags
	var dir, files string
	var migrate bool
	c := &cobra.Command{
		Use:   "convert CATALOG --output-dir DIR",
		Short: "Write a catalog of any form as a folder of file-based catalog files",
		Long: `Convert writes a catalog, whatever form it has, to a folder as opm lays it out:
PACKAGE/catalog.json for each package. An SQLite index becomes a file-based catalog,
JSON becomes YAML or the other way round. The folder is whole or not there; one that
holds other files is not touched.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry catalog convert index.db --output-dir catalog
  gantry catalog convert quay.io/org/catalog:v4.20 --output-dir catalog --files yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.catalogConvert(cmd.Context(), f, dir, files, migrate, args[0])
		},
	}
	f.addFlags(c.Flags())
	migrateFlag(c.Flags(), &migrate)
	c.Flags().StringVar(&dir, "output-dir", "", "folder for the catalog")
	c.Flags().StringVar(&files, "files", string(folder.JSON), "form of the files: json or yaml")
	return c
}

func (a *app) catalogConvert(ctx context.Context, f readFlags, dir, files string, migrate bool, arg string) error {
	form, err := fileForm(files)
	if err != nil {
		return err
	}
	if dir == "" {
		return usagef("where to? give a folder with --output-dir")
	}
	if err := folder.Check(dir); err != nil {
		return foreign(err)
	}
	r, err := a.read(&f)
	if err != nil {
		return err
	}
	defer a.done(r)
	c, err := r.read(ctx, arg, catalog.Options{})
	if err != nil {
		return err
	}
	if migrate {
		if c, err = migrated(c); err != nil {
			return err
		}
	}
	if err := folder.Write(ctx, dir, c, form); err != nil {
		return foreign(err)
	}
	if a.output == outputJSON {
		return a.encode(struct {
			Version  int      `json:"version"`
			Folder   string   `json:"folder"`
			Packages []string `json:"packages"`
		}{1, dir, c.Names})
	}
	return a.text(fmt.Sprintf("%s written to %s (%s)\n", arg, dir, number(len(c.Packages), "package", "packages")))
}

// migrated is a catalog without manifests in olm.bundle.object.
func migrated(c *catalog.Catalog) (*catalog.Catalog, error) {
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

// fileForm is the value of --files.
func fileForm(name string) (folder.Form, error) {
	switch form := folder.Form(name); form {
	case folder.JSON, folder.YAML:
		return form, nil
	}
	return "", usagef("--files %q: give json or yaml", name)
}

// foreign makes a folder that must not or cannot be replaced a mistake of the
// command line.
func foreign(err error) error {
	if errors.Is(err, folder.ErrForeign) || errors.Is(err, folder.ErrBusy) {
		return &usageError{err}
	}
	return err
}
