package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/env"
)

// readFlags are those of verbs that only read catalogs.
type readFlags struct {
	registryFlags
	workspace string
}

func (f *readFlags) addFlags(fs *pflag.FlagSet) {
	f.registryFlags.addSourceFlags(fs)
	f.addCacheDir(fs)
	fs.StringVar(&f.workspace, "workspace", env.DefaultWorkspace, "folder whose cache is used, if it exists")
}

// catalogVerb adds the flags for reading catalogs to a verb, and makes it call run with what they say.
func (a *app) catalogVerb(c *cobra.Command, run func(ctx context.Context, e *env.Env, workspace string, args []string) error) *cobra.Command {
	var f readFlags
	f.addFlags(c.Flags())
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return run(cmd.Context(), a.environment(&f.registryFlags), f.workspace, args)
	}
	return c
}
