package main

import (
	"bufio"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
)

// A renderFlags has the flags of catalog render.
type renderFlags struct {
	readFlags
	outputDir string
	options   authoring.RenderOptions
}

func (a *app) catalogRenderCommand() *cobra.Command {
	var f renderFlags
	c := &cobra.Command{
		Use:   "render CATALOG...",
		Short: "Print catalogs, bundles and rendered templates as file-based catalog objects",
		Long: `Print every object of the catalogs: one JSON object per line, or YAML documents, in a
stable order. Objects of file-based catalogs are printed unchanged except for white
space. SQLite indexes and bundles are converted. The file of a template (olm.template.basic,
olm.template.substitutes, olm.semver, olm.composite) is rendered as opm does. Objects are
not checked; use gantry catalog validate for that.

` + catalogHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog render quay.io/org/catalog:v4.20 > catalog.jsonl
  gantry catalog render -o yaml ./bundle
  gantry catalog render index.db | jq 'select(.schema == "olm.channel")'
  gantry catalog render --template -o yaml semver.yaml > catalog.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.options.Catalogs = args
			return a.catalogRender(cmd.Context(), f)
		},
	}
	f.addFlags(c.Flags())
	migrateFlag(c.Flags(), &f.options.Migrate)
	formFlag(c.Flags(), "format of the objects: json or yaml", outputJSON, outputYAML)
	c.Flags().BoolVar(&f.options.Template, "template", false, "the arguments are catalog templates; - is standard input")
	c.Flags().StringVar(&f.options.CatalogConfig, "catalog-config", "", "file with the catalogs of composite templates (default catalogs.yaml beside the template)")
	c.Flags().StringVar(&f.options.Component, "component", "", "catalog whose components of composite templates are rendered")
	c.Flags().StringVar(&f.outputDir, "output-dir", "", "folder for the files of all components of composite templates, which are validated")
	return c
}

// migrateFlag adds --migrate, which does the same as opm's.
func migrateFlag(f *pflag.FlagSet, migrate *bool) {
	f.BoolVar(migrate, "migrate", false, "replace the manifests in olm.bundle.object by olm.csv.metadata, which makes the catalog smaller")
}

func (a *app) catalogRender(ctx context.Context, f renderFlags) error {
	o := f.options
	if !o.Template && f.outputDir != "" {
		return usagef("--output-dir is for composite templates; add --template")
	}
	for i, arg := range o.Catalogs {
		if o.Template && arg == "-" {
			o.Catalogs[i] = "/dev/stdin"
		}
	}
	o.Env, o.Workspace = a.environment(&f.registryFlags), f.workspace
	out := bufio.NewWriter(a.stdout)
	if f.outputDir != "" {
		paths, err := authoring.RenderComponents(ctx, authoring.RenderComponentsOptions{RenderOptions: o, OutputDir: f.outputDir, Files: folder.Form(a.format)})
		for _, path := range paths {
			_, _ = out.WriteString(path + "\n") // Flush returns the error
		}
		return errors.Join(err, out.Flush())
	}
	err := authoring.RenderCatalogs(ctx, o, func(m *catalog.Meta) error { return view.WriteObject(out, m, a.format == outputYAML) })
	return errors.Join(err, out.Flush())
}
