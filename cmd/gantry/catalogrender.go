package main

import (
	"bufio"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

func (a *app) catalogRenderCommand() *cobra.Command {
	var f readFlags
	var form string
	var migrate bool
	c := &cobra.Command{
		Use:   "render CATALOG...",
		Short: "Print catalogs and bundles as file-based catalog objects",
		Long: `Print every object of the catalogs: one JSON object per line, or YAML documents, in a
stable order. Objects of file-based catalogs are printed unchanged except for white
space. SQLite indexes and bundles are converted. Objects are not checked; use gantry
catalog validate for that.

` + catalogHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog render quay.io/org/catalog:v4.20 > catalog.jsonl
  gantry catalog render -o yaml ./bundle
  gantry catalog render index.db | jq 'select(.schema == "olm.channel")'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.catalogRender(cmd.Context(), f, form, migrate, args)
		},
	}
	f.addFlags(c.Flags())
	migrateFlag(c.Flags(), &migrate)
	formFlag(c.Flags(), &form, "format of the objects: json or yaml", outputJSON, outputYAML)
	return c
}

// migrateFlag adds --migrate, which does the same as opm's.
func migrateFlag(f *pflag.FlagSet, migrate *bool) {
	f.BoolVar(migrate, "migrate", false, "replace the manifests in olm.bundle.object by olm.csv.metadata, which makes the catalog smaller")
}

func (a *app) catalogRender(ctx context.Context, f readFlags, form string, migrate bool, args []string) error {
	if err := a.form(form, outputJSON, outputYAML); err != nil {
		return err
	}
	out := bufio.NewWriter(a.stdout)
	err := gantry.RenderCatalogs(ctx, gantry.RenderOptions{
		Env: a.environment(&f.registryFlags), Workspace: f.workspace, Catalogs: args, Migrate: migrate,
	}, func(m *catalog.Meta) error { return view.WriteObject(out, m, form == outputYAML) })
	return errors.Join(err, out.Flush())
}
