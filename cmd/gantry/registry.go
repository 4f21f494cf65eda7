package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) registryCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "registry",
		Long: `Find out whether a registry can be mirrored to, store its credentials, and create the
repositories or projects that a mirror needs where a push does not create them.

` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry registry login mirror.example.com:5000
  gantry registry doctor docker://mirror.example.com:5000/ocp
  gantry registry prepare -c imageset.yaml docker://harbor.example.com/ocp`,
		Args: verbArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.doctorCommand(), a.loginCommand(), a.logoutCommand(), a.registryPrepareCommand())
	for _, verb := range c.Commands() {
		verb.Args = usageArgs(verb.Args)
	}
	return c
}

// apiFlags are the flags for how repositories are created at a registry.
type apiFlags struct{ kind, tokenFile string }

func (f *apiFlags) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.kind, "registry-kind", "", "kind of the registry whose API creates repositories: ecr, harbor or quay (default: found out)")
	fs.StringVar(&f.tokenFile, "registry-token-file", "", "file with an OAuth token for Quay's API, with the permissions repo:create and repo:read")
}

func (f *apiFlags) options() repositories.API {
	return repositories.API{RegistryKind: f.kind, RegistryTokenFile: f.tokenFile}
}

// prepareFlags are the flags of gantry registry prepare.
type prepareFlags struct {
	selectFlags
	releaseFlags
	registryFlags
	apiFlags
	trust          trustFlags
	plan           string
	from           archives
	workspace      string
	maxNestedPaths int
	print          bool
	form           string
}

func (a *app) registryPrepareCommand() *cobra.Command {
	var f prepareFlags
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
		RunE: func(cmd *cobra.Command, args []string) error { return a.prepareRegistry(cmd.Context(), &f, args[0]) },
	}
	f.selectFlags.addFlags(c.Flags(), pathsKept)
	f.releaseFlags.addFlags(c.Flags())
	f.registryFlags.addFlags(c.Flags())
	f.addCacheDir(c.Flags())
	f.addRenderer(c.Flags())
	f.apiFlags.addFlags(c.Flags())
	f.trust.addFlags(c.Flags())
	c.Flags().StringVar(&f.plan, "plan", "", "the plan, a file from gantry plan --lock")
	c.Flags().Var(&f.from, "from", "the plan of the archive in this folder, file://DIR (may be repeated, or with commas)")
	c.Flags().StringVar(&f.workspace, "workspace", env.DefaultWorkspace, "with -c, folder for the cache")
	c.Flags().IntVar(&f.maxNestedPaths, "max-nested-paths", 0, "maximum number of path components at the mirror, as in gantry mirror; 0 is no limit")
	c.Flags().BoolVar(&f.print, "print", false, "create nothing, and print the commands that would: aws, or curl")
	formFlag(c.Flags(), &f.form, "format of the result: text or json", outputText, outputJSON)
	return c
}

func (a *app) prepareRegistry(ctx context.Context, f *prepareFlags, mirror string) error {
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	read, err := a.reading(&f.trust)
	if err != nil {
		return err
	}
	result, err := repositories.Prepare(ctx, repositories.Options{
		Env: a.environment(&f.registryFlags), Selection: f.selection(), ReleaseTrust: f.releaseFlags.trust(), API: f.apiFlags.options(), Mirror: mirror,
		Plan: f.plan, From: f.from, Workspace: f.workspace, MaxNestedPaths: f.maxNestedPaths, Print: f.print, Read: read,
	})
	if result == nil {
		return err
	}
	return errors.Join(err, a.result(result, func() string { return view.PreparedRegistry(result, err != nil) }))
}
