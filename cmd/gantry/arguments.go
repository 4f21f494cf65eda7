package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// usageArgs makes wrong arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return seeHelp(cmd, err)
		}
		return nil
	}
}

// seeHelp adds the hint to read a command's help, unless the error has a hint of its own.
func seeHelp(cmd *cobra.Command, err error) error {
	if hintOf(err) != "" {
		return err
	}
	return advice.Wrap(advice.Input, err, "run "+cmd.CommandPath()+" --help")
}
