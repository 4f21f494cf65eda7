package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/registry"
)

// doctorRetries is how often doctor repeats a request, unless the user says otherwise: who asks what is
// wrong should not wait until it is better.
const doctorRetries = 1

func (a *app) doctorCommand() *cobra.Command {
	var f registryFlags
	var o registry.DoctorOptions
	c := &cobra.Command{
		Use:   "doctor docker://HOST[:PORT][/PREFIX]",
		Short: "Look at everything that mirroring to a registry depends on",
		Long: `Look at everything that mirroring to a registry depends on, and print for each
whether it is ok, a warning or a problem, with what to do: connection, proxy,
certificates, clock, credentials (where they come from, never what they are), the
disk of the workspace, and what the registry is able to do: nested paths, sparse
indexes, referrers, mounts, deletion, media types, large manifests, uploads in parts.

For that, a few small artifacts are pushed to the repository gantry/probe below the
prefix, and to one below it, and deleted again. With --read-only, nothing is pushed.

` + exitCodes(map[int]string{
			exitOK:           "no problems; there may be warnings",
			exitError:        "something prevents mirroring",
			exitUnauthorized: helpUnauthorized,
		}),
		Example: `  gantry registry doctor docker://mirror.example.com:5000/ocp
  gantry registry doctor -c imageset.yaml docker://mirror.example.com:5000/ocp
  gantry registry doctor --read-only docker://mirror.example.com:5000 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Env, o.Mirror = a.environment(&f), args[0]
			if !cmd.Flags().Changed("retry-times") {
				o.Env.RetryTimes = doctorRetries
			}
			result, err := registry.Doctor(cmd.Context(), o)
			if result == nil {
				return err
			}
			for i := range result.Findings {
				found := &result.Findings[i]
				found.Text, found.Remedy = flagNames(found.Text), flagNames(found.Remedy)
			}
			return cmp.Or(a.result(result, func() string { return view.Doctor(result) }), err)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().StringVarP(&o.Config, "config", "c", "", "also look at the registries that this configuration names")
	c.Flags().StringVar(&o.Workspace, "workspace", env.DefaultWorkspace, "folder of the workspace")
	c.Flags().BoolVar(&o.ReadOnly, "read-only", false, "push nothing; what the registry is able to do is not found out")
	formFlag(c.Flags(), "format of the result: text or json", outputText, outputJSON)
	return c
}
