package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/env"
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
		err := check(cmd, args)
		if err == nil || hintOf(err) != "" {
			return err
		}
		return usageHint("write "+usageLine(cmd), "%s", miscounted(cmd, check, args))
	}
	for _, below := range c.Commands() {
		checkArgs(below)
	}
}

// mostArguments is more than any command needs.
const mostArguments = 4

// miscounted says what is wrong with the arguments of a command that does not accept so many.
func miscounted(cmd *cobra.Command, check cobra.PositionalArgs, args []string) string {
	for n := len(args) + 1; n <= mostArguments; n++ {
		if check(cmd, make([]string, n)) == nil {
			return env.Number(n-len(args), "argument is", "arguments are") + " missing"
		}
	}
	for n := len(args) - 1; n >= 0; n-- {
		if check(cmd, args[:n]) == nil {
			return fmt.Sprintf("%q is one argument too many", redact.Text(args[n]))
		}
	}
	return "wrong arguments"
}

// usageLine returns the command line of a command with names for its arguments: gantry archive inspect file://DIR...
func usageLine(cmd *cobra.Command) string {
	_, args, _ := strings.Cut(cmd.Use, " ")
	return strings.TrimSpace(cmd.CommandPath() + " " + args)
}

// seeHelp adds the hint to read a command's help, unless the error has a hint of its own.
func seeHelp(cmd *cobra.Command, err error) error {
	if hintOf(err) != "" {
		return err
	}
	return advice.Wrap(advice.Input, err, "run "+cmd.CommandPath()+" --help")
}
