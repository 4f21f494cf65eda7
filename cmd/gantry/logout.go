package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/registry"
)

func (a *app) logoutCommand() *cobra.Command {
	var f registryFlags
	c := &cobra.Command{
		Use:   "logout HOST[:PORT][/PATH]",
		Short: "Remove the credentials for a registry",
		Long: `Remove the credentials for a registry, or for a path of it, from the file that gantry
registry login writes. Credentials in other files stay, and are reported.

` + exitCodes(nil),
		Example: `  gantry registry logout mirror.example.com:5000
  gantry registry logout --authfile auth.json quay.io/org`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			result, err := registry.Logout(cmd.Context(), registry.LogoutOptions{Env: a.environment(&f), Registry: args[0]})
			if err != nil {
				return err
			}
			if result.Remaining != "" {
				a.say("credentials for %s are still in %s", result.Registry, result.Remaining)
			}
			return a.result(result, func() string {
				if !result.Removed {
					return fmt.Sprintf("There were no credentials for %s in %s.\n", result.Registry, result.File)
				}
				return fmt.Sprintf("Logged out of %s: its credentials are no longer in %s.\n", result.Registry, result.File)
			})
		},
	}
	c.Flags().StringVar(&f.AuthFile, "authfile", "", authFileHelp)
	return c
}
