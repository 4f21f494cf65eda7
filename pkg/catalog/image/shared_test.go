package image

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// TestRealCatalogs packs the real catalogs beside the checkout into an image, reads them, rebuilds
// the image and reads that. The result equals reading the folder.
func TestRealCatalogs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	dir := filepath.Join("..", "..", "..", "..", "shared", "catalogs")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no ../shared/catalogs beside the checkout")
	}
	direct := catalog.NewReader(catalog.Options{})
	headers := []header{{"configs/", ""}}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		// The large ones add nothing here, and take a minute under -race.
		if info, err := d.Info(); err != nil || info.Size() > 400<<10 {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		headers = append(headers, header{"configs/" + filepath.ToSlash(below), string(data)})
		return direct.File(filepath.ToSlash(below), bytes.NewReader(data))
	})
	must(t, err)
	want, err := direct.Catalog()
	must(t, err)

	m := newMemory()
	root := m.putImage(t, source{entrypoint: []string{"/bin/opm"}, cmd: opmServe, layers: [][]header{base, headers, cache}}.image(t))
	for range 2 {
		img, err := Open(t.Context(), m, "", root)
		must(t, err)
		got, err := img.Read(t.Context(), catalog.Options{})
		must(t, err)
		if diff := cmp.Diff(written(t, want), written(t, got)); diff != "" {
			t.Fatal("the catalogs of the image and the folder differ")
		}
		built, err := Build(t.Context(), m, img, got)
		must(t, err)
		root = built.Root
	}
}

// written returns a catalog as it is written, by file.
func written(t *testing.T, c *catalog.Catalog) map[string]string {
	t.Helper()
	files, err := catalog.Files(c)
	must(t, err)
	texts := map[string]string{}
	for _, f := range files {
		var b bytes.Buffer
		_, err := f.WriteTo(&b)
		must(t, err)
		texts[f.Path] = b.String()
	}
	return texts
}
