package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/keychain"
)

func (a *app) logoutCommand() *cobra.Command {
	var authFile string
	c := &cobra.Command{
		Use:   "logout HOST[:PORT][/PATH]",
		Short: "Forget the credentials for a registry",
		Long: `Logout takes the credentials for a registry, or for a path of it, out of the file
that gantry login writes them to. Credentials in other files stay; where some are
still found, that is said.

` + exitStatusHelp,
		Example: `  gantry logout mirror.example.com:5000
  gantry logout --authfile auth.json quay.io/org`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.logout(cmd.Context(), authFile, args[0])
		},
	}
	c.Flags().StringVar(&authFile, "authfile", "", authFileHelp)
	return c
}

func (a *app) logout(ctx context.Context, authFile, place string) error {
	host, path, err := parseRegistry(place)
	if err != nil {
		return err
	}
	file, err := a.keychainOptions(authFile).LoginFile()
	if err != nil {
		return &usageError{err}
	}
	key := strings.TrimSuffix(host+"/"+path, "/")
	found, err := keychain.Remove(file, key)
	if err != nil {
		return storeError(err)
	}
	// A file that is named has to exist to be read, and need not for this.
	left, err := keychain.New(a.keychainOptions("")).Credential(ctx, host, path)
	if err == nil && !left.Anonymous() {
		a.say("credentials for %s are still found in %s", key, left.Source)
	}
	if a.output == outputJSON {
		return a.encode(map[string]any{"version": 1, "registry": key, "file": file, "removed": found})
	}
	text := "Logged out of %s: its credentials are no longer in %s.\n"
	if !found {
		text = "There were no credentials for %s in %s.\n"
	}
	_, err = fmt.Fprintf(a.stdout, text, key, file)
	return err
}
