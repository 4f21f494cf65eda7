package extension_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Resolve and package graph, written independently, choose the same update of each bundle.
func TestAgreesWithGraph(t *testing.T) {
	t.Parallel()
	catalogs := map[string]*catalog.Catalog{
		"own": content(t, chain, candidate, "other: p.v1.1.0 p.v3.0.0+1 p.v3.0.0+2<p.v3.0.0+1 p.v1.5.0<p.v2.0.0", deprecated("olm.bundle/p.v2.0.0", "olm.bundle/p.v1.0.0")),
	}
	const folder = "../../../../shared/catalogs"
	for _, name := range []string{"infinispan", "opendatahub-operator", "kubecost-operator", "konflux-operator", "external-dns-operator", "gatekeeper-operator-product"} {
		if _, err := os.Stat(folder); err != nil {
			break
		}
		c, err := catalog.Read(t.Context(), os.DirFS(filepath.Join(folder, name)), catalog.Options{})
		fail.On(t, err)
		catalogs[name] = c
	}
	for name, c := range catalogs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.Packages[0]
			views := []graph.View{{Generation: graph.V1}}
			for _, ch := range p.Channels {
				views = append(views, graph.View{Generation: graph.V1, Channels: []string{ch.Name}})
			}
			steps := 0
			for _, view := range views {
				updates := graph.NewUpdates(p, view)
				for _, b := range p.Bundles {
					want := b.Name
					if hop, ok := updates.Step(graph.Running(b)); ok {
						want = hop.To
						steps++
					}
					e := extension.Extension{Package: p.Name, Channels: view.Channels, Installed: &extension.Installed{Name: b.Name, Version: b.Version.String(), Release: b.Release}}
					r, err := extension.Resolve(e, []extension.Catalog{{Name: "c", Content: c}})
					if failed := (*extension.Error)(nil); errors.As(err, &failed) && failed.Reason == extension.NoBundle {
						r.Bundle = b.Name // the bundle is not in the channel and stays installed
					} else if err != nil {
						t.Fatal(err)
					}
					if r.Bundle != want {
						t.Errorf("from %s in %q: got %s, package graph has %s", b.Name, view.Channels, r.Bundle, want)
					}
				}
			}
			if steps == 0 {
				t.Error("the catalog has no update")
			}
		})
	}
}
