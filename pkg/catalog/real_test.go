package catalog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// realCatalogs has packages of public catalogs, beside the project's checkout.
const realCatalogs = "../../../shared/catalogs"

func realPackages(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(realCatalogs)
	if err != nil {
		t.Skip("there are no real catalogs beside the checkout")
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestRealCatalogs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	total := struct{ packages, channels, bundles int }{}
	for _, name := range realPackages(t) {
		t.Run(name, func(t *testing.T) {
			c, err := catalog.Read(t.Context(), os.DirFS(filepath.Join(realCatalogs, name)), catalog.Options{})
			fail.On(t, err)
			p := c.Package(name)
			if p == nil || len(c.Packages) != 1 {
				t.Fatalf("got packages %q", c.Names)
			}
			total.packages++
			total.channels += len(p.Channels)
			total.bundles += len(p.Bundles)
			for _, b := range p.Bundles {
				if b.VersionErr != nil {
					t.Errorf("%s: %v", b.Name, b.VersionErr)
				}
			}
			sameWhenWritten(t, c)
		})
	}
	if total.packages != 39 || total.channels != 145 || total.bundles != 1060 {
		t.Errorf("got %+v", total)
	}
}
