package main

import (
	"bufio"
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) catalogRenderCommand() *cobra.Command {
	var o authoring.RenderOptions
	var outputDir string
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
	}
	migrateFlag(c.Flags(), &o.Migrate)
	formFlag(c.Flags(), "format of the objects: json or yaml", outputJSON, outputYAML)
	c.Flags().BoolVar(&o.Template, "template", false, "the arguments are catalog templates; - is standard input")
	c.Flags().StringVar(&o.CatalogConfig, "catalog-config", "", "file with the catalogs of composite templates (default catalogs.yaml beside the template)")
	c.Flags().StringVar(&o.Component, "component", "", "catalog whose components of composite templates are rendered")
	c.Flags().StringVar(&outputDir, "output-dir", "", "folder for the files of all components of composite templates, which are validated")
	return a.catalogVerb(c, func(ctx context.Context, e *env.Env, workspace string, args []string) error {
		o.Env, o.Workspace, o.Catalogs = e, workspace, args
		return a.catalogRender(ctx, o, outputDir)
	})
}

// migrateFlag adds --migrate, which does the same as opm's.
func migrateFlag(f *pflag.FlagSet, migrate *bool) {
	f.BoolVar(migrate, "migrate", false, "replace the manifests in olm.bundle.object by olm.csv.metadata, which makes the catalog smaller")
}

func (a *app) catalogRender(ctx context.Context, o authoring.RenderOptions, outputDir string) error {
	if !o.Template && outputDir != "" {
		return usagef("--output-dir is for composite templates; add --template")
	}
	for i, arg := range o.Catalogs {
		if o.Template && arg == "-" {
			o.Catalogs[i] = "/dev/stdin"
		}
	}
	out := bufio.NewWriter(a.stdout)
	if outputDir != "" {
		paths, err := authoring.RenderComponents(ctx, authoring.RenderComponentsOptions{RenderOptions: o, OutputDir: outputDir, Files: folder.Form(a.format)})
		for _, path := range paths {
			_, _ = out.WriteString(path + "\n") // Flush returns the error
		}
		return errors.Join(err, out.Flush())
	}
	err := authoring.RenderCatalogs(ctx, o, func(m *catalog.Meta) error { return view.WriteObject(out, m, a.format == outputYAML) })
	return errors.Join(err, out.Flush())
}
