package main

import (
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// group adds commands below one that does nothing itself.
func group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = verbArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	c.AddCommand(below...)
	return c
}

// checkArgs makes wrong arguments of a command, and of those below it, a usage error.
func checkArgs(c *cobra.Command) {
	check := c.Args
	c.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return seeHelp(cmd, err)
		}
		return nil
	}
	for _, below := range c.Commands() {
		checkArgs(below)
	}
}

// seeHelp adds the hint to read a command's help, unless the error has a hint of its own.
func seeHelp(cmd *cobra.Command, err error) error {
	if hintOf(err) != "" {
		return err
	}
	return advice.Wrap(advice.Input, err, "run "+cmd.CommandPath()+" --help")
}
