package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/plan/selection"
)

func (a *app) configConvertCommand() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "convert FILE",
		Short: "Rewrite a configuration as v2alpha1",
		Long: `Rewrite a configuration of oc mirror v1 or v2 as mirror.openshift.io/v2alpha1, with the
names, cases, versions and references as gantry reads them, without repeated entries and
without fields that have no effect. The result selects the same content.

Order and comments are kept, except for comments within removed fields. Aliases and merge
keys are replaced by what they stand for. A file without warnings is not changed.

The file is printed, or written to --to. What was changed, and what has no equivalent, is
listed on stderr.

` + exitCodes(map[int]string{exitUsage: "the file is invalid, or flags are wrong"}),
		Example: `  gantry config convert imageset.yaml
  gantry config convert imageset-v1.yaml --to imageset.yaml
  gantry config convert --output json imageset.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.configConvert(args[0], to) },
	}
	c.Flags().StringVar(&to, "to", "", "write the configuration to this file, which may be the original")
	return c
}

func (a *app) configConvert(path, to string) error {
	result, err := selection.ConvertConfig(path)
	if err != nil {
		return err
	}
	if to != "" {
		err := durable.Write(to, func(w io.Writer) error {
			_, err := io.WriteString(w, result.Text)
			return err
		})
		if err != nil {
			return err
		}
	}
	switch {
	case a.output == outputJSON:
		return a.encode(result)
	case to == "":
		if _, err := io.WriteString(a.stdout, result.Text); err != nil {
			return err
		}
	}
	for _, p := range result.Changed {
		a.say("changed: %s", p)
	}
	for _, p := range result.Left {
		a.warn("no equivalent: %s", p)
	}
	switch {
	case len(result.Changed) == 0:
		a.say("%s: nothing to change", path)
	case to != "":
		a.say("%s: %s; written to %s", path, view.Number(len(result.Changed), "change", "changes"), to)
	}
	return nil
}
