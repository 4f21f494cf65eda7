package catalog_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// written lays a catalog out in memory.
func written(t testing.TB, c *catalog.Catalog) fstest.MapFS {
	t.Helper()
	files, err := catalog.Files(c)
	fail.On(t, err)
	fsys := fstest.MapFS{}
	for _, f := range files {
		var text bytes.Buffer
		n, err := f.WriteTo(&text)
		fail.On(t, err)
		if n != f.Size() || n != int64(text.Len()) {
			t.Errorf("%s: wrote %d bytes, has %d, Size is %d", f.Path, text.Len(), n, f.Size())
		}
		if fsys[f.Path] != nil {
			t.Errorf("%s was written twice", f.Path)
		}
		fsys[f.Path] = &fstest.MapFile{Data: text.Bytes()}
	}
	return fsys
}

// An object is the content of a meta, without its position.
type object struct {
	Schema, Package, Name, Raw string
}

// objects returns all objects of a catalog in the order of its model.
func objects(c *catalog.Catalog) []object {
	var all []object
	add := func(m *catalog.Meta) {
		all = append(all, object{m.Schema, m.Package, m.Name, string(m.Raw)})
	}
	for _, p := range c.Packages {
		for _, m := range p.Metas {
			add(m)
		}
		for _, ch := range p.Channels {
			add(ch.Meta)
		}
		for _, b := range p.Bundles {
			add(b.Meta)
		}
		for _, m := range p.Others {
			add(m)
		}
		for _, d := range p.Deprecations {
			add(d.Meta)
		}
	}
	for _, m := range slices.SortedStableFunc(slices.Values(c.Others), func(a, b *catalog.Meta) int { // as they are written
		return strings.Compare(a.Schema+"\x00"+a.Name, b.Schema+"\x00"+b.Name)
	}) {
		add(m)
	}
	return all
}

// sameWhenWritten checks that a catalog is the same after writing and reading, byte for byte. What
// is decoded follows from the bytes.
func sameWhenWritten(t testing.TB, c *catalog.Catalog) {
	t.Helper()
	again, err := catalog.Read(t.Context(), written(t, c), catalog.Options{})
	fail.On(t, err)
	before, after := objects(c), objects(again)
	if slices.Equal(before, after) {
		return
	}
	t.Errorf("after writing and reading (-before +after):\n%s", cmp.Diff(before, after))
}
