package crdsafety_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/crdsafety"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
)

// TestRealDefinitions reads the definitions of every bundle of public packages, and compares those of
// neighboring entries.
func TestRealDefinitions(t *testing.T) {
	t.Parallel()
	const folder = "../../../../shared/catalogs"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there is no ../shared/catalogs beside the checkout")
	}
	if testing.Short() {
		t.Skip("reads real data")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "catalog.*"))
	if err != nil {
		t.Fatal(err)
	}
	definitions, refused, accepted := 0, 0, 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := catalog.Read(t.Context(), fstest.MapFS{"catalog": {Data: text}}, catalog.Options{})
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		for _, p := range c.Packages {
			crds := map[string]map[string]*crdsafety.CRD{}
			for _, b := range p.Bundles {
				crds[b.Name] = map[string]*crdsafety.CRD{}
				manifests, err := excerpt.Manifests(b, "CustomResourceDefinition")
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range manifests {
					d, err := crdsafety.Read(text)
					if err != nil {
						t.Fatalf("%s: %v", b.Name, err)
					}
					crds[b.Name][d.Name] = d
					definitions++
				}
			}
			for _, ch := range p.Channels {
				for _, e := range ch.Entries {
					for name, next := range crds[e.Name] {
						old := crds[e.Replaces][name]
						if old == nil {
							continue
						}
						if got := crdsafety.Compare(old, old); len(got) > 0 {
							t.Errorf("%s of %s differs from itself: %v", name, e.Replaces, got)
						}
						switch got := crdsafety.Compare(old, next); {
						case len(got) > 0:
							refused++
							t.Logf("%s -> %s: %s: %d, %s", e.Replaces, e.Name, name, len(got), got[0])
						default:
							accepted++
						}
					}
				}
			}
		}
	}
	t.Logf("%d definitions, %d updates refused, %d accepted", definitions, refused, accepted)
	if definitions < 100 || refused == 0 || accepted == 0 {
		t.Errorf("got %d definitions, %d updates refused, %d accepted", definitions, refused, accepted)
	}
}
