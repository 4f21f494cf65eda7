package diff_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
)

// realCatalogs are packages of public catalogs beside the checkout.
const realCatalogs = "../../../../shared/catalogs"

// tooLarge reports folders with more than a megabyte of YAML, which take long and add no coverage.
func tooLarge(t *testing.T, folder string) bool {
	t.Helper()
	var total int64
	err := fs.WalkDir(os.DirFS(folder), ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total > 1<<20
}

// Real catalogs equal themselves with other white space and reversed lists, and each differs from
// itself without its last bundle.
func TestRealCatalogs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads real data")
	}
	entries, err := os.ReadDir(realCatalogs)
	if err != nil {
		t.Skip("there are no real catalogs beside the checkout")
	}
	for _, e := range entries {
		if !e.IsDir() || tooLarge(t, filepath.Join(realCatalogs, e.Name())) {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			c, err := catalog.Read(t.Context(), os.DirFS(filepath.Join(realCatalogs, e.Name())), catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := diff.Compare(c, rewritten(t, c)); !d.Empty() {
				t.Errorf("rewritten: %+v", d)
			}
			less := *c.Packages[0]
			last := less.Bundles[len(less.Bundles)-1]
			less.Bundles = less.Bundles[:len(less.Bundles)-1]
			d := diff.Compare(c, &catalog.Catalog{Packages: []*catalog.Package{&less}, Others: c.Others})
			if len(d.Bundles) != 1 || d.Bundles[0].Name != last.Name || d.Bundles[0].Change != diff.Removed || len(d.Channels)+len(d.Edges) != 0 {
				t.Errorf("without a bundle: %+v", d)
			}
		})
	}
}
