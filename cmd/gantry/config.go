package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config {check | schema}",
		Short: "Check configurations, print their JSON Schema",
		Long: `Config is about ImageSetConfiguration files by themselves: it reads no registry
and mirrors nothing.

` + exitStatusHelp,
		Example: `  gantry config check imageset.yaml
  gantry config schema > imageset.schema.json`,
		Args: verbArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.configCheckCommand(), a.configSchemaCommand())
	return c
}

func (a *app) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Read configurations strictly and say what is wrong with them",
		Long: `Check reads ImageSetConfiguration files as gantry plan does and prints everything
that is wrong with each, with its line. Whether packages, channels and images
exist is not decided here: gantry plan asks the registries.

` + exitStatusHelp,
		Example: `  gantry config check imageset.yaml
  gantry config check --output json sets/*.yaml`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return a.configCheck(args) },
	}
}

func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration",
		Long: `Schema prints the JSON Schema (draft 2020-12) of the ImageSetConfiguration, for
editors and for pipelines. It is made from the table that the configuration is
read by.

` + exitStatusHelp,
		Example: `  gantry config schema > imageset.schema.json`,
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(imageset.Schema())
			return err
		},
	}
}

// checkedFile is what gantry config check --output json says of a file.
type checkedFile struct {
	File     string           `json:"file"`
	OK       bool             `json:"ok"`
	Problems []checkedProblem `json:"problems,omitempty"`
}

type checkedProblem struct {
	Line    int    `json:"line,omitempty"` // from 1; left out where it is about the file
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// checkFile reads one file. lines is what a person is shown.
func checkFile(path string) (result checkedFile, lines []string) {
	_, err := imageset.Load(path)
	var bad *imageset.Error
	switch {
	case err == nil:
		return checkedFile{File: path, OK: true}, []string{path + ": ok"}
	case !errors.As(err, &bad):
		return checkedFile{File: path, Problems: []checkedProblem{{Message: err.Error()}}}, []string{path + ": " + err.Error()}
	}
	result = checkedFile{File: path}
	for _, p := range bad.Problems {
		result.Problems = append(result.Problems, checkedProblem{Line: p.Pos.Line, Column: p.Pos.Column, Message: p.Message, Hint: p.Hint})
		lines = append(lines, p.String())
	}
	return result, lines
}

func (a *app) configCheck(paths []string) error {
	var results []checkedFile
	var lines []string
	for _, path := range paths {
		result, text := checkFile(path)
		results, lines = append(results, result), append(lines, text...)
	}
	var err error
	if a.output == outputJSON {
		err = a.encode(struct {
			Version int           `json:"version"`
			Files   []checkedFile `json:"files"`
		}{1, results})
	} else {
		err = a.text(strings.Join(lines, "\n") + "\n")
	}
	if err != nil {
		return err
	}
	bad := slices.DeleteFunc(results, func(r checkedFile) bool { return r.OK })
	if len(bad) == 0 {
		return nil
	}
	return usagef("not valid: %d of %d files", len(bad), len(paths))
}
