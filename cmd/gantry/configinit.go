package main

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// starterVersion is the default minor version of a configuration to begin with.
const starterVersion = "4.20"

func (a *app) configInitCommand() *cobra.Command {
	var version string
	c := &cobra.Command{
		Use:   "init",
		Short: "Print a configuration to begin with",
		Long: `Print a small, valid ImageSetConfiguration with comments, for a platform, an operator
and an image.

` + exitCodes(nil),
		Example: `  gantry config init > imageset.yaml
  gantry config init --version 4.18 > imageset.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.configInit(version) },
	}
	c.Flags().StringVar(&version, "version", starterVersion, "minor version of OpenShift")
	formFlag(c.Flags(), "format: yaml, or json without comments", outputYAML, outputJSON)
	return c
}

func (a *app) configInit(version string) error {
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+$`).MatchString(version) {
		return usageHint("give the minor version as 4.20", "--version %q", version)
	}
	text := imageset.Starter(version)
	if a.format == outputJSON {
		compact, err := yaml.YAMLToJSON(text)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := json.Indent(&b, compact, "", "  "); err != nil {
			return err
		}
		text = append(b.Bytes(), '\n')
	}
	_, err := a.stdout.Write(text)
	return err
}
