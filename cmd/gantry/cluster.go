package main

import "github.com/spf13/cobra"

func (a *app) clusterCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "cluster",
		Long: `Write what clusters apply to use a mirror. gantry mirror writes the cluster resources, too;
gantry check finds out whether clusters can be updated.

` + exitCodes(map[int]string{exitMismatch: helpMissingAccess, exitLocked: helpLocked, exitUnauthorized: helpUnauthorized}),
		Example: `  gantry cluster resources --for openshift-4.20
  gantry cluster operator install my-operator --from docker://mirror.example.com:5000 | oc apply -f -`,
	}, a.resourcesCommand(), a.operatorCommand())
}
