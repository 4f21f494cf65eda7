package authoring

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
	"sync"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// ServeCatalogOptions says which catalog ServeCatalog serves, and how.
type ServeCatalogOptions struct {
	Env *env.Env
	// Workspace is the folder whose cache is used, if it exists. The default is env.DefaultWorkspace.
	Workspace string
	// Catalog is an image, a folder or a file.
	Catalog string
	// Listen is the address to listen on. The default is 127.0.0.1:50051; port 0 is a free one.
	Listen string
	// Name is the name of the catalog in the HTTP API. The default is derived from Catalog.
	Name string
	// Ready is called when the server listens, before it serves. An error ends it.
	Ready func(ServingCatalog) error
}

// ServingCatalog describes a server of a catalog. Its JSON is what gantry catalog serve --output json
// prints.
type ServingCatalog struct {
	Version int    `json:"version"`
	Address string `json:"address"` // HOST:PORT where it listens
	URL     string `json:"url"`     // of all objects in the HTTP API
}

// ServeCatalog serves a valid catalog for both generations of OLM, until ctx ends: catalogd's HTTP API,
// and gRPC as opm serve does. It is for tests: there is no TLS and no authentication.
func ServeCatalog(ctx context.Context, o ServeCatalogOptions) error {
	e, done := o.Env.OrDefault()
	defer done()
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return err
	}
	c, err := ReadValid(ctx, r, o.Catalog)
	workspace.CloseSources(e, r)
	if err != nil {
		return err
	}
	registry, err := catalogserver.Registry(c)
	if err != nil {
		return fmt.Errorf("serving %s: %w", o.Catalog, err)
	}
	name := cmp.Or(o.Name, servedName(o.Catalog))
	api, err := catalogserver.HTTP(catalogserver.Catalog{Name: name, Content: c, Modified: time.Now()})
	if err != nil {
		return advice.Wrap(advice.Input, err, "")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(o.Listen, "127.0.0.1:50051"))
	if err != nil {
		return env.Inputf("Options.Listen: %w", err)
	}
	if o.Ready != nil {
		at := l.Addr().String()
		if err := o.Ready(ServingCatalog{Version: 1, Address: at, URL: "http://" + at + "/catalogs/" + name + "/api/v1/all"}); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	both := catalogserver.Listener{Listener: l, Handler: catalogserver.Either(registry, api)}
	if err := catalogserver.Serve(ctx, e.Logger(), both); err != nil {
		return fmt.Errorf("serving %s: %w", o.Catalog, err)
	}
	return nil
}

var notInLabel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9-]+`) })

// servedName returns a DNS label made of the last component of a catalog's name.
func servedName(catalog string) string {
	base, _, _ := strings.Cut(path.Base(filepath.ToSlash(catalog)), "@")
	base, _, _ = strings.Cut(base, ":")
	name := strings.Trim(notInLabel().ReplaceAllString(strings.ToLower(base), "-"), "-")
	return cmp.Or(name, "catalog")
}
