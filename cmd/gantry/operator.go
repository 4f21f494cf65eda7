package main

import "github.com/spf13/cobra"

func (a *app) operatorCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "operator",
		Short: "Print what installs a mirrored operator in a cluster",
		Long: `Print what installs a mirrored operator in a disconnected cluster.

` + exitCodes(map[int]string{exitMismatch: helpMissingAccess, exitUnauthorized: helpUnauthorized}),
		Example: `  gantry cluster operator install my-operator --from docker://mirror.example.com:5000 | oc apply -f -
  gantry cluster operator install my-operator --olm classic --from file:///media/disk`,
	}, a.operatorInstallCommand())
}
