package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalogserver"
)

// catalogServeFlags are those of gantry catalog serve.
type catalogServeFlags struct {
	readFlags
	listen, name, form string
}

func (a *app) catalogServeCommand() *cobra.Command {
	var f catalogServeFlags
	c := &cobra.Command{
		Use:   "serve CATALOG",
		Short: "Serve a catalog as clusters ask for it, to try it",
		Long: `Serve answers on one address as both generations of OLM expect it: the HTTP API of
catalogd (/catalogs/NAME/api/v1/all and /metas) and gRPC as opm serve speaks it
(api.Registry, health, reflection). The catalog has to be valid. It ends with INT or
TERM. There is neither TLS nor a password: listen elsewhere than on loopback only
where everybody may read.

` + catalogHelp + `
` + exitStatusHelp,
		Example: `  gantry catalog serve ./catalog
  curl http://127.0.0.1:50051/catalogs/catalog/api/v1/metas?schema=olm.package
  grpcurl -plaintext 127.0.0.1:50051 api.Registry/ListPackages`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.catalogServe(cmd.Context(), f, args[0])
		},
	}
	f.addFlags(c.Flags())
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:50051", "address to listen on; port 0 takes a free one")
	c.Flags().StringVar(&f.name, "name", "", "name of the catalog in the HTTP API (default: from what is served)")
	formFlag(c.Flags(), &f.form, "form in which the address is told: text or json", outputText, outputJSON)
	return c
}

func (a *app) catalogServe(ctx context.Context, f catalogServeFlags, arg string) error {
	if err := a.form(f.form, outputText, outputJSON); err != nil {
		return err
	}
	r, err := a.read(&f.readFlags)
	if err != nil {
		return err
	}
	c, err := r.read(ctx, arg, catalog.Options{})
	a.done(r)
	if err != nil {
		return err
	}
	if err := valid(c, arg); err != nil {
		return err
	}
	registry, err := catalogserver.Registry(c)
	if err != nil {
		return fmt.Errorf("serving %s: %w", arg, err)
	}
	name := cmp.Or(f.name, servedName(arg))
	api, err := catalogserver.HTTP(catalogserver.Catalog{Name: name, Content: c, Modified: time.Now()})
	if err != nil {
		return &usageError{err}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	url := "http://" + l.Addr().String() + "/catalogs/" + name + "/api/v1/all"
	a.say("serving %s on %s, as %s; end with Ctrl-C", arg, l.Addr(), url)
	if a.output == outputJSON {
		if err := a.encode(struct {
			Version int    `json:"version"`
			Address string `json:"address"`
			URL     string `json:"url"`
		}{1, l.Addr().String(), url}); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	both := catalogserver.Listener{Listener: l, Handler: catalogserver.Either(registry, api)}
	if err := catalogserver.Serve(ctx, a.log, both); err != nil {
		return fmt.Errorf("serving %s: %w", arg, err)
	}
	return nil
}

var notInLabel = regexp.MustCompile(`[^a-z0-9-]+`)

// servedName is a DNS label from the last part of a catalog's name.
func servedName(arg string) string {
	base, _, _ := strings.Cut(path.Base(filepath.ToSlash(arg)), "@")
	base, _, _ = strings.Cut(base, ":")
	name := strings.Trim(notInLabel.ReplaceAllString(strings.ToLower(base), "-"), "-")
	return cmp.Or(name, "catalog")
}
