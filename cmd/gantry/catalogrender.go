package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

func (a *app) catalogRenderCommand() *cobra.Command {
	var f readFlags
	var form string
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
			return a.catalogRender(cmd.Context(), f, form, args)
		},
	}
	f.addFlags(c.Flags())
	formFlag(c.Flags(), &form, "form of the objects: json or yaml", outputJSON, outputYAML)
	return c
}

func (a *app) catalogRender(ctx context.Context, f readFlags, form string, args []string) error {
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
			err = src.Stream(ctx, func(m *catalog.Meta) error { return writeObject(out, m, form) })
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
