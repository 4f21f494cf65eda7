package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/env"
)

func (a *app) catalogServeCommand() *cobra.Command {
	var o authoring.ServeCatalogOptions
	c := &cobra.Command{
		Use:   "serve CATALOG",
		Short: "Serve a catalog over HTTP and gRPC, for tests",
		Long: `Serve a valid catalog on one address for both generations of OLM: the HTTP API of
catalogd (/catalogs/NAME/api/v1/all and /metas), and gRPC like opm serve (api.Registry,
health, reflection). Stop it with Ctrl-C, INT or TERM.

There is no TLS and no authentication. Listen on other addresses than loopback only if
everyone on that network may read the catalog.

` + catalogHelp + `
` + exitCodes(map[int]string{exitOK: "stopped by INT, TERM or HUP", exitInterrupted: "stopped before it served", exitUnauthorized: helpUnauthorized}),
		Example: `  gantry catalog serve ./catalog
  curl http://127.0.0.1:50051/catalogs/catalog/api/v1/metas?schema=olm.package
  grpcurl -plaintext 127.0.0.1:50051 api.Registry/ListPackages`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:50051", "address to listen on; port 0 selects a free port")
	c.Flags().StringVar(&o.Name, "name", "", "name of the catalog in the HTTP API (default: derived from CATALOG)")
	formFlag(c.Flags(), "format in which the address is printed: text or json", outputText, outputJSON)
	return a.catalogVerb(c, func(ctx context.Context, e *env.Env, workspace string, args []string) error {
		o.Env, o.Workspace, o.Catalog = e, workspace, args[0]
		o.Ready = func(s authoring.ServingCatalog) error {
			a.say("serving %s on %s, as %s; end with Ctrl-C", o.Catalog, s.Address, s.URL)
			return a.result(s, func() string { return "" })
		}
		return authoring.ServeCatalog(ctx, o)
	})
}
