package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/advice/escape"
)

// These are values of -o that only some verbs have.
const (
	outputYAML = "yaml"
	outputWide = "wide" // text with more columns
)

const catalogHelp = `CATALOG is one of:
  quay.io/org/catalog:v1     an image
  oci://DIR[:NAME|@DIGEST]   an image in an OCI layout
  PATH or dir://PATH         a folder with file-based catalog files, an SQLite
                             database, a bundle directory, or a template
Images may contain a file-based catalog, an SQLite index or a bundle.
`

func (a *app) catalogCommand() *cobra.Command {
	c := &cobra.Command{
		Use:  "catalog",
		Long: "Inspect operator catalogs in any format, and create and test your own.\n\n" + catalogHelp + "\n" + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog list quay.io/org/catalog:v4.20
  gantry catalog diff quay.io/org/catalog:v4.19 quay.io/org/catalog:v4.20
  gantry catalog graph quay.io/org/catalog:v4.20 my-operator -o svg > graph.svg
  gantry catalog filter -c imageset.yaml --output-dir filtered
  gantry catalog validate ./catalog`,
		Args: verbArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.catalogRenderCommand(), a.catalogValidateCommand(), a.catalogListCommand(), a.catalogDiffCommand(),
		a.catalogFilterCommand(), a.catalogConvertCommand(),
		a.catalogInitCommand(), a.catalogDeprecateCommand(), a.catalogBuildCommand(), a.catalogServeCommand(), a.catalogGraphCommand())
	for _, verb := range c.Commands() {
		verb.Args = usageArgs(verb.Args)
	}
	return c
}

// formFlag adds -o to a verb with output formats of its own. The first is the default.
func formFlag(f *pflag.FlagSet, form *string, what string, forms ...string) {
	f.StringVarP(form, "output", "o", forms[0], what)
	offer(f, "output", forms)
}

// form checks the value of -o. With JSON in place of text, errors are JSON, too.
func (a *app) form(form string, forms ...string) error {
	if slices.Contains(forms, form) {
		if form == outputJSON && forms[0] == outputText {
			a.output = outputJSON
		}
		return nil
	}
	return usagef("-o %q: give one of %s", form, strings.Join(forms, ", "))
}

// print writes a value as JSON or YAML.
func (a *app) print(form string, v any) error {
	if form == outputJSON {
		return a.encode(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if escape.Contains(string(text)) {
		text = append(escape.JSON(text), '\n') // which is YAML, too: the converter does not escape them
	} else if text, err = yaml.JSONToYAML(text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "---\n%s", text)
	return err
}
