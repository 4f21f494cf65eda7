package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/archive/open"
)

// archiveFlags select an archive and how its signature is verified.
type archiveFlags struct {
	trust    trustFlags
	sequence int
}

func (f *archiveFlags) addFlags(fs *pflag.FlagSet) {
	f.trust.addFlags(fs)
	fs.IntVar(&f.sequence, "sequence", 0, "number of the archive (default: the newest)")
}

// options returns the options that select the archive in the folders that args name.
func (f *archiveFlags) options(a *app, args []string) (open.Options, error) {
	read, err := a.reading(&f.trust)
	return open.Options{Env: a.environment(&a.offline), Folders: args, Sequence: f.sequence, Read: read}, err
}

// archiveVerb adds the flags that select an archive to a command, and what it does with the archive.
func (a *app) archiveVerb(c *cobra.Command, run func(ctx context.Context, o open.Options) error) *cobra.Command {
	var f archiveFlags
	f.addFlags(c.Flags())
	c.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := f.options(a, args)
		if err != nil {
			return err
		}
		return run(cmd.Context(), o)
	}
	return c
}
