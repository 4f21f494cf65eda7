package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/plan/explain"
)

// explainFlags are the flags of gantry plan explain.
type explainFlags struct {
	registryFlags
	selectFlags
	releaseFlags
	plan, workspace, form string
	destFormat            string
}

func (a *app) explainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain {IMAGE | BUNDLE | PACKAGE | RELEASE | COMPONENT}",
		Short: "Show why an image, a bundle or a release is in a plan",
		Long: `Show why something is in a plan:

  image      the catalogs, packages, bundles or releases that name it; give its source
             or a part of it, its digest, or its repository in the mirror
  bundle     the channels that keep it, and the reason
  package    the same for all its bundles
  release    the channels and update paths that need it; give its version
  component  the releases that have it; give its name

With -c, the configuration is planned first, and the plan is not saved. Without -c and
--plan, the plan of the workspace is used.

` + exitCodes(map[int]string{exitUsage: "the plan does not have it, or flags are wrong", exitLocked: helpLocked, exitUnauthorized: helpUnauthorized, exitNoSpace: helpNoSpace}),
		Example: `  gantry plan explain my-operator.v1.2.0
  gantry plan explain -c imageset.yaml my-operator
  gantry plan explain registry.redhat.io/ubi9/ubi:latest --plan plan.json
  gantry plan explain sha256:4a43... -o json
  gantry plan explain 4.20.1
  gantry plan explain etcd`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.explain(cmd.Context(), f, args[0]) },
	}
	f.selectFlags.addFlags(c.Flags(), pathsKept)
	c.Flags().StringVar(&f.destFormat, "dest-format", "", destFormatUsage)
	f.releaseFlags.addFlags(c.Flags())
	f.addSourceFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	c.Flags().StringVar(&f.plan, "plan", "", "plan, as gantry plan --lock writes it")
	c.Flags().StringVar(&f.workspace, "workspace", env.DefaultWorkspace, "folder with the plan, and with the cache for -c")
	formFlag(c.Flags(), &f.form, "format of the result: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

func (a *app) explain(ctx context.Context, f explainFlags, name string) error {
	if err := a.form(f.form, outputText, outputJSON, outputYAML); err != nil {
		return err
	}
	o := explain.Options{
		Env: a.environment(&f.registryFlags), Selection: f.selection(), ReleaseTrust: f.trust(), Plan: f.plan, Workspace: f.workspace, Name: name,
	}
	o.DestFormat = f.destFormat
	e, err := explain.Run(ctx, o)
	if err != nil {
		return err
	}
	if f.form != outputText {
		return a.print(f.form, explanationDocument{1, e})
	}
	return a.text(view.Explanation(e))
}

// An explanationDocument is what gantry plan explain -o json prints.
type explanationDocument struct {
	Version int `json:"version"`
	plan.Explanation
}
