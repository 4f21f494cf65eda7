package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/plan"
)

// planFlags are the flags of gantry plan.
type planFlags struct {
	inputs
	registryFlags
	policyFlags
	lock           string
	exitCode       bool
	maxNestedPaths int
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use: "plan -c FILE [DESTINATION]",
		Long: `Resolve everything that a configuration asks for: tags to digests, packages to
bundles to images, images to manifests and blobs with their sizes. Nothing is copied.
With a destination, also show what is already present there.

--lock writes the plan as JSON: sorted, without timestamps, identical for the same
input. gantry mirror --plan copies exactly this plan.

` + exitCodes(map[int]string{
			exitPartial:   "images are missing at their sources; the plan lists them",
			exitSomething: "with --exit-code: content has to be copied to the destination",
			exitLocked:    helpLocked, exitUnauthorized: helpUnauthorized, exitNoSpace: helpNoSpace,
		}),
		Example: `  gantry plan -c imageset.yaml
  gantry plan -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry plan -c imageset.yaml --lock plan.json
  gantry plan -c imageset.yaml --exit-code docker://mirror.example.com:5000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.plan(cmd.Context(), f, strings.Join(args, ""))
		},
	}
	f.inputs.addFlags(c.Flags())
	f.registryFlags.addFlags(c.Flags())
	f.policyFlags.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	a.addFile(c.Flags(), &f.lock, "lock", "write the plan as JSON to this file")
	c.Flags().StringVar(&f.lock, "out", "", "write the plan as JSON to this file")
	c.Flags().Lookup("out").Hidden = true // its name before --lock
	c.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 5 if content has to be copied to the destination")
	c.Flags().IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "maximum number of path components at the destination; 0 is no limit")
	return c
}

func (a *app) plan(ctx context.Context, f planFlags, destination string) error {
	if f.exitCode && destination == "" {
		return usageHint("name a destination", "--exit-code compares the plan with a destination")
	}
	if err := f.checkWorkspace(); err != nil {
		return err
	}
	images, err := f.policyFlags.trust()
	if err != nil {
		return err
	}
	result, err := gantry.Plan(ctx, gantry.PlanOptions{
		Env: a.environment(&f.registryFlags), Selection: f.selection(), ReleaseTrust: f.inputs.trust(), ImageTrust: images, Name: f.name, Workspace: f.workspace, RemoveSignatures: f.removeSignatures,
		Destination: destination, MaxNestedPaths: f.maxNestedPaths,
	})
	if result == nil {
		return err
	}
	nameFlagsIn(result.Resources)
	if f.lock != "" {
		if err := durable.Write(f.lock, result.Plan.Write); err != nil {
			return err
		}
	}
	if err := a.showPlan(result.Plan, destination, result.ToCopy, result.Resources, result.Warnings, result.Verified); err != nil {
		return err
	}
	switch {
	case f.lock != "":
		a.say("plan written to %s", f.lock)
	case result.Trial:
		a.say("plan not saved in the workspace, because --installed, --dependencies, --complete-related-images or --platforms-mode change it; --lock FILE writes it to a file")
	}
	if err == nil && f.exitCode && result.ToCopy.Images > 0 {
		return errSomething
	}
	return err
}

// nameFlagsIn writes the names of flags into notes, in place of options. files may be nil.
func nameFlagsIn(files *gantry.ResourceFiles) {
	if files == nil {
		return
	}
	for i, note := range files.Notes {
		files.Notes[i] = flagNames(note)
	}
}

// showPlan prints a plan, and what would change in the cluster resources, as text or JSON.
func (a *app) showPlan(p *plan.Plan, destination string, missing *mirror.ToCopy, files *gantry.ResourceFiles, warnings []gantry.ConfigProblem, verified *gantry.VerifiedSignatures) error {
	if a.output == outputJSON {
		return a.encode(struct {
			Version     int                        `json:"version"`
			Plan        *plan.Plan                 `json:"plan"`
			Destination string                     `json:"destination,omitempty"`
			Missing     *mirror.ToCopy             `json:"missing,omitempty"`
			Resources   *gantry.ResourceFiles      `json:"resources,omitempty"`
			Warnings    []gantry.ConfigProblem     `json:"warnings,omitempty"`
			Verified    *gantry.VerifiedSignatures `json:"verifiedSignatures,omitempty"`
		}{1, p, destination, missing, files, warnings, verified})
	}
	return a.text(flagNames(view.Plan(p, destination, missing, a.columns()) + view.VerifiedSignatures(verified) + view.PlannedResources(files)))
}
