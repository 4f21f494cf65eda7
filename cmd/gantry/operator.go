package main

import "github.com/spf13/cobra"

func (a *app) operatorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "operator",
		Short: "Print what installs a mirrored operator in a cluster",
		Long: `Print what installs a mirrored operator in a disconnected cluster.

` + exitCodes(map[int]string{exitMismatch: helpMissingAccess, exitUnauthorized: helpUnauthorized}),
		Example: `  gantry cluster operator install my-operator --from docker://mirror.example.com:5000 | oc apply -f -
  gantry cluster operator install my-operator --olm classic --from file:///media/disk`,
		Args: verbArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.operatorInstallCommand())
	for _, verb := range c.Commands() {
		verb.Args = usageArgs(verb.Args)
	}
	return c
}
