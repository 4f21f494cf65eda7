package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/authoring"
)

// catalogServeFlags are the flags of gantry catalog serve.
type catalogServeFlags struct {
	readFlags
	listen, name, form string
}

func (a *app) catalogServeCommand() *cobra.Command {
	var f catalogServeFlags
	c := &cobra.Command{
		Use:   "serve CATALOG",
		Short: "Serve a catalog over HTTP and gRPC, for tests",
		Long: `Serve a valid catalog on one address for both generations of OLM: the HTTP API of
catalogd (/catalogs/NAME/api/v1/all and /metas), and gRPC like opm serve (api.Registry,
health, reflection). Stop it with Ctrl-C, INT or TERM.

There is no TLS and no authentication. Listen on other addresses than loopback only if
everyone on that network may read the catalog.

` + catalogHelp + `
` + exitCodes(map[int]string{exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog serve ./catalog
  curl http://127.0.0.1:50051/catalogs/catalog/api/v1/metas?schema=olm.package
  grpcurl -plaintext 127.0.0.1:50051 api.Registry/ListPackages`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.catalogServe(cmd.Context(), f, args[0])
		},
	}
	f.addFlags(c.Flags())
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:50051", "address to listen on; port 0 selects a free port")
	c.Flags().StringVar(&f.name, "name", "", "name of the catalog in the HTTP API (default: derived from CATALOG)")
	formFlag(c.Flags(), &f.form, "format in which the address is printed: text or json", outputText, outputJSON)
	return c
}

func (a *app) catalogServe(ctx context.Context, f catalogServeFlags, arg string) error {
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	return authoring.ServeCatalog(ctx, authoring.ServeCatalogOptions{
		Env: a.environment(&f.registryFlags), Workspace: f.workspace, Catalog: arg, Listen: f.listen, Name: f.name,
		Ready: func(s authoring.ServingCatalog) error {
			a.say("serving %s on %s, as %s; end with Ctrl-C", arg, s.Address, s.URL)
			if a.output == outputJSON {
				return a.encode(s)
			}
			return nil
		},
	})
}
