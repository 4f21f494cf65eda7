package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan"
)

// planFlags are those of gantry plan.
type planFlags struct {
	inputs
	sides
	out            string
	exitCode       bool
	maxNestedPaths int
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan -c FILE [DESTINATION]",
		Short: "Work out what a configuration brings, and how large it is",
		Long: `Plan resolves everything that a configuration asks for: tags to digests,
packages to bundles to images, images to manifests and blobs with their sizes.
It copies nothing. With a destination, it also says what is there already.

The JSON that -o writes is the lock file: sorted, without timestamps, the same
bytes for the same input. "gantry mirror --plan" copies exactly that.

` + exitStatusHelp,
		Example: `  gantry plan -c imageset.yaml
  gantry plan -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry plan -c imageset.yaml -o plan.json
  gantry plan -c imageset.yaml --exit-code docker://mirror.example.com:5000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.plan(cmd.Context(), f, strings.Join(args, ""))
		},
	}
	f.inputs.addFlags(c.Flags())
	f.sides.addFlags(c.Flags())
	c.Flags().StringVarP(&f.out, "out", "o", "", "write the plan's JSON to this file")
	c.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 5 where the destination lacks something")
	c.Flags().IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "path components that the destination allows; 0 is no limit")
	return c
}

func (a *app) plan(ctx context.Context, f planFlags, destination string) error {
	if f.exitCode && destination == "" {
		return usageHint("name one", "--exit-code asks what a destination lacks")
	}
	if err := f.load(); err != nil {
		return err
	}
	var t target
	if destination != "" {
		var err error
		if t, err = a.target(destination, targetOptions{sides: &f.sides, maxNestedPaths: f.maxNestedPaths}); err != nil {
			return err
		}
	}
	s, err := a.open(f.inputs, &f.sides)
	if err != nil {
		return err
	}
	defer a.leave(s)
	p, err := a.makePlan(ctx, f.inputs, s, &f.sides)
	if err != nil {
		return err
	}
	var missing *mirror.Missing
	if t != nil {
		if to, ok := t.(*archiveTarget); ok {
			if err := a.settle(ctx, s, to, carry.Options{}, p); err != nil {
				return err
			}
		}
		if err := s.admit(ctx, t, p, f.inputs, resources.Options{}); err != nil {
			return err
		}
		if missing, err = t.look(ctx, p); err != nil {
			return err
		}
	}
	if f.out != "" {
		if err := durable.Write(f.out, p.Write); err != nil {
			return err
		}
	}
	if err := a.showPlan(p, destination, missing); err != nil {
		return err
	}
	if f.out != "" {
		a.say("plan written to %s", f.out)
	}
	switch {
	case len(p.Missing) > 0:
		return &partialError{failed: len(p.Missing), planned: true}
	case f.exitCode && missing.Images > 0:
		return errSomething
	}
	return nil
}

// showPlan prints the plan for a person, or as JSON.
func (a *app) showPlan(p *plan.Plan, destination string, missing *mirror.Missing) error {
	if a.output == outputJSON {
		return a.encode(struct {
			Version     int             `json:"version"`
			Plan        *plan.Plan      `json:"plan"`
			Destination string          `json:"destination,omitempty"`
			Missing     *mirror.Missing `json:"missing,omitempty"`
		}{1, p, destination, missing})
	}
	return a.text(planTable(p, destination, missing))
}
