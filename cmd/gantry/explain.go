package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/explain"
)

func (a *app) explainCommand() *cobra.Command {
	var f registryFlags
	var o explain.Options
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

and which lines of the configuration asked for it, with what would go without them.

With -c, the configuration is planned first, and the plan is not saved. Without -c and
--plan, the plan of the workspace is used.

` + exitCodes(map[int]string{exitUsage: "the plan does not have it, or flags are wrong", exitLocked: helpLocked, exitUnauthorized: helpUnauthorized, exitNoSpace: helpNoSpace}),
		Example: `  gantry plan explain my-operator.v1.2.0
  gantry plan explain -c imageset.yaml my-operator
  gantry plan explain registry.redhat.io/ubi9/ubi:latest --plan plan.json
  gantry plan explain sha256:4a43... -o json
  gantry plan explain 4.20.1
  gantry plan explain etcd`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Env, o.Name = a.environment(&f), args[0]
			e, err := explain.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.result(explanationDocument{1, *e}, func() string { return view.Explanation(e) })
		},
	}
	addSelection(c.Flags(), &o.Selection, pathsKept)
	addDestFormat(c.Flags(), &o.Selection)
	addReleaseTrust(c.Flags(), &o.ReleaseTrust)
	f.addSourceFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	c.Flags().StringVar(&o.Plan, "plan", "", "plan, as gantry plan --lock writes it")
	c.Flags().StringVar(&o.Workspace, "workspace", env.DefaultWorkspace, "folder with the plan, and with the cache for -c")
	formFlag(c.Flags(), "format of the result: text, json or yaml", outputText, outputJSON, outputYAML)
	return c
}

// An explanationDocument is what gantry plan explain -o json prints.
type explanationDocument struct {
	Version int `json:"version"`
	explain.Result
}
