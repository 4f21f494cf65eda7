package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// The help of flags that gantry mirror and gantry cluster resources have.
const (
	forUsage  = "clusters that apply the resources: openshift-4.20 or kubernetes, and further components: openshift-4.20,update-service (default: as before, or the oldest mirrored OpenShift)"
	icspUsage = "write ImageContentSourcePolicies, for clusters before OpenShift 4.13, in place of mirror sets"
)

func (a *app) resourcesCommand() *cobra.Command {
	var f registryFlags
	var o cluster.ResourcesOptions
	var trust trustFlags
	var icsp bool
	c := &cobra.Command{
		Use:   "resources [docker://HOST[:PORT][/PREFIX]]",
		Short: "Write the cluster resources of a mirror again, also for another host name",
		Long: `Write the cluster resources of a mirror again, from what the workspace knows of it or
from an archive. No registry is asked. The mirror may be left out if the workspace has
only one. What no flag sets is as in the last run.

` + exitCodes(map[int]string{exitMismatch: "the archive that is read is damaged, or not signed as required", exitLocked: helpLocked}),
		Example: `  gantry cluster resources
  gantry cluster resources --for openshift-4.20,update-service
  gantry cluster resources --mirror-host registry.dmz.example.com:8443
  gantry cluster resources --from file:///media/disk --mirror-host mirror.example.com:5000/ocp`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("icsp") {
				o.ICSP = &icsp
			}
			o.Env = a.environment(&f)
			if len(args) > 0 {
				o.Mirror = args[0]
			}
			return a.resources(cmd.Context(), o, &trust)
		},
	}
	c.Flags().StringVar(&o.Workspace, "workspace", env.DefaultWorkspace, "folder of the workspace")
	c.Flags().Var((*archives)(&o.From), "from", "write the resources for what the archive in this folder brings, file://DIR (may be repeated, or with commas)")
	c.Flags().StringVar(&o.MirrorHost, "mirror-host", "", "HOST[:PORT][/PREFIX] by which clusters reach the mirror, if it is another one")
	c.Flags().StringVar(&o.For, "for", "", forUsage)
	c.Flags().BoolVar(&icsp, "icsp", false, icspUsage)
	c.Flags().StringVar(&o.MirrorSourcePolicy, "mirror-source-policy", "", "mirrorSourcePolicy of the mirror sets: NeverContactSource or AllowContactingSource")
	c.Flags().StringVar(&o.ImagePolicies, "image-policies", "", "version of the ClusterImagePolicies: v1, v1alpha1 or none")
	c.Flags().StringVar(&o.ImagePolicyNamespace, "image-policy-namespace", "", "write ImagePolicies for this namespace instead of ClusterImagePolicies")
	c.Flags().StringVar(&f.Destination.CertDir, "dest-cert-dir", "", "folder with the CA of the mirror (*.crt), for the files that trust it (default: as in the last run)")
	c.Flags().BoolVar(&f.Destination.PlainHTTP, "dest-plain-http", false, "write the files for a mirror with plain HTTP (default: as in the last run)")
	trust.addFlags(c.Flags())
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return c
}

func (a *app) resources(ctx context.Context, o cluster.ResourcesOptions, trust *trustFlags) error {
	if err := trust.check(len(o.From) > 0); err != nil {
		return err
	}
	if len(o.From) > 0 {
		var err error
		if o.Read, err = a.reading(trust); err != nil {
			return err
		}
	}
	files, err := mirroring.Resources(ctx, o)
	if err != nil {
		return err
	}
	nameFlagsIn(files)
	return a.result(files, func() string {
		absoluteResources(files)
		return view.Resources(files)
	})
}
