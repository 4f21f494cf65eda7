package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

func (a *app) configCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "config {init | check | convert | schema | from-cluster | from-mirror}",
		Long: `Check ImageSetConfiguration files, convert them to v2alpha1, make them from what a cluster
runs or a mirror has, or print their JSON Schema.

` + exitCodes(nil),
		Example: `  gantry config check imageset.yaml
  gantry config convert imageset-v1.yaml --to imageset.yaml
  gantry config from-cluster cluster.json --to imageset.yaml
  gantry config schema > imageset.schema.json`,
	}, a.configCheckCommand(), a.configConvertCommand(), a.configSchemaCommand(), a.configInitCommand(), a.configFromClusterCommand(), a.configFromMirrorCommand())
}

func (a *app) configCheckCommand() *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Check configurations and list all problems",
		Long: `Read ImageSetConfiguration and DeleteImageSetConfiguration files, and list all problems
with their lines. Warnings are about text that is read and should be corrected, and say how it is
read. Whether packages, channels and images exist is not checked; gantry plan does that.

` + exitCodes(map[int]string{exitUsage: "a file is invalid, or has warnings and --strict is set; or flags are wrong"}),
		Example: `  gantry config check imageset.yaml
  gantry config check --strict imageset.yaml
  gantry config check -o sarif sets/*.yaml > problems.sarif`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			result, err := config.Check(config.CheckOptions{Files: args, Strict: strict})
			if a.format == outputSARIF {
				return cmp.Or(a.encode(view.ConfigCheckSARIF(result, buildVersion())), err)
			}
			return show(a, result, err, view.ConfigCheck)
		},
	}
	c.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	formFlag(c.Flags(), "format: text (FILE:LINE:COLUMN: problem), json, or sarif, which editors and forges show beside the lines", outputText, outputJSON, outputSARIF)
	return c
}

func (a *app) configSchemaCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration",
		Long: `Print the JSON Schema (draft 2020-12) of the ImageSetConfiguration, or of another kind, for
editors and pipelines. It describes what gantry config check --strict accepts.

` + exitCodes(nil),
		Example: `  gantry config schema > imageset.schema.json
  gantry config schema --kind DeleteImageSetConfiguration`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text := imageset.Schema()
			switch kind {
			case imageset.Kind:
			case imageset.DeletionKind:
				text = imageset.DeletionSchema()
			default:
				return usageHint("use "+imageset.Kind+" or "+imageset.DeletionKind, "--kind %q", kind)
			}
			_, err := a.stdout.Write(text)
			return err
		},
	}
	c.Flags().StringVar(&kind, "kind", imageset.Kind, "kind of the configuration: "+imageset.Kind+" or "+imageset.DeletionKind)
	return c
}
