package gantry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// updateGraph is the answer of an update service: two releases, and an update between them.
const updateGraph = `{
	"nodes": [
		{"version": "4.20.1", "payload": "quay.io/ocp/release@sha256:1111111111111111111111111111111111111111111111111111111111111111"},
		{"version": "4.20.2", "payload": "quay.io/ocp/release@sha256:2222222222222222222222222222222222222222222222222222222222222222"}
	],
	"edges": [[0, 1]]
}`

// A configuration is applied to its catalogs, and the results are written as folders.
func Example_filterCatalogs() {
	s := newSite()
	defer s.close()
	result, err := authoring.FilterCatalogs(context.Background(), authoring.FilterOptions{
		Env:       s.env,
		Selection: selection.Selection{Config: s.path("imageset.yaml")},
		Workspace: s.path("workspace"),
		OutputDir: s.path("filtered"),
	})
	check(err)
	for _, c := range result.Catalogs {
		for _, p := range c.Packages {
			fmt.Println(filepath.Base(c.Folder), p.Name)
		}
	}
	// Output:
	// operator-index-v4.20 lantern
	// operator-index-v4.20 tidewater
	// curated-index lantern
	// curated-index weathervane
}

// The update graph of a channel is read from an update service.
func Example_releaseGraph() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, updateGraph)
		check(err)
	}))
	defer service.Close()
	env := &gantry.Env{Getenv: func(name string) string { return map[string]string{"UPDATE_URL_OVERRIDE": service.URL}[name] }}
	defer env.Close()
	_, g, err := releases.ReleaseGraph(context.Background(), releases.ReleaseGraphOptions{Env: env, Channel: "stable-4.20"})
	check(err)
	fmt.Println(len(g.Nodes), "releases, the head is", g.Nodes[g.Head()].Version)
	// Output:
	// 2 releases, the head is 4.20.2
}

// A catalog is reduced to one package, as a configuration asks for it.
func Example_filterCatalog() {
	c, err := catalog.Read(context.Background(), os.DirFS("testdata/sample/catalogs/acme"), catalog.Options{})
	check(err)
	result, err := filter.Apply(c, imageset.Operator{Packages: []imageset.Package{{Name: "lantern"}}})
	check(err)
	for _, p := range result.Packages {
		fmt.Println(p.Name)
	}
	// Output:
	// lantern
}

// An update graph is read, as an update service returns it.
func Example_readUpdateGraph() {
	g, err := graph.Read(strings.NewReader(updateGraph))
	check(err)
	for _, n := range g.Nodes {
		fmt.Println(n.Version)
	}
	// Output:
	// 4.20.1
	// 4.20.2
}
