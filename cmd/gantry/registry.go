package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) registryCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "registry",
		Long: `Find out whether a registry can be mirrored to, store its credentials, and create the
repositories or projects that a mirror needs where a push does not create them.

` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry registry login mirror.example.com:5000
  gantry registry doctor docker://mirror.example.com:5000/ocp
  gantry registry prepare -c imageset.yaml docker://harbor.example.com/ocp`,
	}, a.doctorCommand(), a.loginCommand(), a.logoutCommand(), a.registryPrepareCommand())
}

func (a *app) registryPrepareCommand() *cobra.Command {
	var f registryFlags
	var o repositories.Options
	var trust trustFlags
	c := &cobra.Command{
		Use:   "prepare {-c FILE | --plan FILE | --from file://DIR} docker://HOST[:PORT][/PREFIX]",
		Short: "Create the repositories or projects that a plan needs",
		Long: `Create the repositories that a plan needs on Amazon ECR and Quay, or the projects on
Harbor, and those for Gantry's own records. What exists is left as it is. New ones are
private. Nothing is copied.

  ecr     AWS credentials from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
          AWS_SESSION_TOKEN, or from the profile AWS_PROFILE of ~/.aws/credentials
  harbor  the credentials of the registry: of a user who may create projects
  quay    an OAuth token of the organization, which must exist: --registry-token-file

` + exitCodes(map[int]string{exitLocked: helpLocked, exitUnauthorized: helpUnauthorized}),
		Example: `  gantry registry prepare -c imageset.yaml docker://harbor.example.com/ocp
  gantry registry prepare --from file:///media/disk --registry-token-file token docker://quay.example.com/ocp
  gantry registry prepare --plan plan.json --print docker://123456789012.dkr.ecr.eu-central-1.amazonaws.com/ocp`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Read, err = a.reading(&trust); err != nil {
				return err
			}
			o.Env, o.Mirror = a.environment(&f), args[0]
			result, err := repositories.Prepare(cmd.Context(), o)
			return show(a, result, err, func(r *repositories.Prepared) string { return view.PreparedRegistry(r, err != nil) })
		},
	}
	addSelection(c.Flags(), &o.Selection, pathsKept)
	addReleaseTrust(c.Flags(), &o.ReleaseTrust)
	f.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	addRegistryAPI(c.Flags(), &o.API)
	trust.addFlags(c.Flags())
	c.Flags().StringVar(&o.Plan, "plan", "", "the plan, a file from gantry plan --lock")
	c.Flags().Var((*archives)(&o.From), "from", "the plan of the archive in this folder, file://DIR (may be repeated, or with commas)")
	c.Flags().StringVar(&o.Workspace, "workspace", env.DefaultWorkspace, "with -c, folder for the cache")
	addNestedPaths(c.Flags(), &o.MaxNestedPaths)
	c.Flags().BoolVar(&o.Print, "print", false, "create nothing, and print the commands that would: aws, or curl")
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return c
}
