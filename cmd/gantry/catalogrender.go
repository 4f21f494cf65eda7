package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
)

func (a *app) catalogRenderCommand() *cobra.Command {
	var f readFlags
	var form string
	var migrate bool
	c := &cobra.Command{
		Use:   "render CATALOG...",
		Short: "Print catalogs and bundles as file-based catalog objects",
		Long: `Render prints every object of the catalogs on stdout, one JSON object a line or
one YAML document after the other, in an order that is always the same. Objects
of a file-based catalog are printed as they stand, but for white space; SQLite
indexes and bundles are turned into it. Nothing is held in memory, and nothing is judged: that is for
gantry catalog validate.

` + catalogHelp + `
` + exitStatusHelp,
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
	formFlag(c.Flags(), &form, "form of the objects: json or yaml", outputJSON, outputYAML)
	return c
}

// migrateFlag adds --migrate, which is opm's --migrate.
func migrateFlag(f *pflag.FlagSet, migrate *bool) {
	f.BoolVar(migrate, "migrate", false, "put olm.csv.metadata in place of the manifests in olm.bundle.object, which makes a catalog smaller")
}

func (a *app) catalogRender(ctx context.Context, f readFlags, form string, migrate bool, args []string) error {
	if err := a.form(form, outputJSON, outputYAML); err != nil {
		return err
	}
	r, err := a.read(&f)
	if err != nil {
		return err
	}
	defer a.done(r)
	out := bufio.NewWriter(a.stdout)
	for _, arg := range args {
		src, err := r.open(ctx, arg)
		if err == nil {
			err = src.Stream(ctx, func(m *catalog.Meta) (err error) {
				if migrate {
					m, err = bundle.Migrate(m)
				}
				if err == nil {
					err = writeObject(out, m, form)
				}
				return err
			})
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	return out.Flush()
}

// writeObject writes one object of a catalog.
func writeObject(out *bufio.Writer, m *catalog.Meta, form string) error {
	if form == outputYAML {
		text, err := m.YAML()
		if err == nil {
			_, err = fmt.Fprintf(out, "---\n%s", text)
		}
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, m.Raw); err != nil {
		return fmt.Errorf("writing %s %q: %w", m.Schema, m.Name, err)
	}
	line.WriteByte('\n')
	_, err := line.WriteTo(out)
	return err
}
