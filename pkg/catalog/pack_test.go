package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// large is a file with bundles of about 30 KB each, some of them larger than a block, and objects of
// other schemas between them.
func large(bundles int) fstest.MapFS {
	var b strings.Builder
	for i := range bundles {
		text := strings.Repeat(fmt.Sprintf("Release %d of the operator & more. ", i), 1000)
		if i%20 == 7 {
			text = strings.Repeat(text, 20)
		}
		fmt.Fprintf(&b, `{"schema":"olm.bundle","package":"p","name":"p.v1.%d.0","image":"quay.io/p@%[1]d",
"properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.%[1]d.0"}},{"type":"olm.csv.metadata","value":{"description":%[2]q}},
{"type":"x","value":[%[1]d, 1.50]}],"relatedImages":[{"name":"a","image":"quay.io/a@%[1]d"}]}
{"schema":"io.example","package":"p","name":"note %[1]d"}
`, i, text)
	}
	return fstest.MapFS{
		"p/catalog.json": {Data: []byte(b.String())},
		"p/more.yaml":    {Data: []byte("schema: olm.package\nname: p\ndefaultChannel: c\n---\nschema: olm.bundle\npackage: p\nname: q.v1\nproperties: [{type: olm.bundle.object, value: {data: eA==}}]\n")},
	}
}

// A catalog that is read packed differs only in the text of bundles, and that can be unpacked.
func TestPack(t *testing.T) {
	fsys := large(100)
	want, err := catalog.Read(t.Context(), fsys, catalog.Options{})
	fail.On(t, err)
	got, err := catalog.Read(t.Context(), fsys, catalog.Options{Pack: true})
	fail.On(t, err)
	for i, b := range got.Package("p").Bundles {
		if b.Meta.Raw != nil || b.Meta.Packed == nil || b.Meta.Len() != len(want.Package("p").Bundles[i].Meta.Raw) {
			t.Fatalf("bundle %s is not packed", b.Name)
		}
		for _, p := range b.Properties {
			if isManifest := p.Type == "olm.csv.metadata" || p.Type == "olm.bundle.object"; isManifest != (p.Value == nil) {
				t.Errorf("bundle %s: property %s is %.50q", b.Name, p.Type, p.Value)
			}
		}
		if b.Image != want.Package("p").Bundles[i].Image || !b.Version.Equals(want.Package("p").Bundles[i].Version) {
			t.Errorf("got %+v", b)
		}
	}
	if a, b := textOf(t, want), textOf(t, got); a != b {
		t.Errorf("the packed catalog is written as %d bytes, not %d", len(b), len(a))
	}

	// Unpacked by several goroutines and not in their order, bundles are what they were.
	var workers sync.WaitGroup
	for n := range 4 {
		workers.Go(func() {
			for i := range got.Package("p").Bundles {
				at := (i*37 + n) % len(got.Package("p").Bundles)
				b, err := got.Package("p").Bundles[at].Complete()
				if diff := cmp.Diff(want.Package("p").Bundles[at], b, cmp.Comparer(bytes.Equal), cmp.Comparer(sameError)); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
			}
		})
	}
	workers.Wait()
	if b, err := want.Package("p").Bundles[0].Complete(); b != want.Package("p").Bundles[0] || err != nil {
		t.Errorf("an unpacked bundle was copied: %v", err)
	}
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// textOf returns a catalog as JSON and as YAML.
func textOf(t *testing.T, c *catalog.Catalog) string {
	t.Helper()
	files, err := catalog.Files(c)
	fail.On(t, err)
	var b bytes.Buffer
	for _, f := range files {
		n, err := f.WriteTo(&b)
		if err != nil || n != f.Size() {
			t.Fatalf("%s: wrote %d bytes of %d, %v", f.Path, n, f.Size(), err)
		}
		text, err := f.Metas[len(f.Metas)/2].YAML()
		fail.On(t, err)
		b.Write(text)
	}
	return b.String()
}

// Wrong members of a bundle are the same problem, whether its text is packed or not.
func TestPackProblems(t *testing.T) {
	fsys := fstest.MapFS{"f": {Data: []byte(`{"schema":"olm.bundle","package":"p","name":"q.v1","image":5}`)}}
	_, want := catalog.Read(t.Context(), fsys, catalog.Options{})
	_, err := catalog.Read(t.Context(), fsys, catalog.Options{Pack: true})
	if found := (*catalog.Error)(nil); !errors.As(err, &found) || err.Error() != want.Error() {
		t.Errorf("got %v, want %v", err, want)
	}
}

// Objects that were read before can take the place of a file.
func TestObjects(t *testing.T) {
	want, err := catalog.Read(t.Context(), large(3), catalog.Options{})
	fail.On(t, err)
	broken := errors.New("page 7")
	for _, pack := range []bool{false, true} {
		r := catalog.NewReader(catalog.Options{Pack: pack, Keep: func(pkg string) bool { return pkg == "p" }})
		objects := append(want.Package("p").Objects(), &catalog.Meta{Schema: "other", Package: "q"})
		if err := r.Objects("p", func(yield func(*catalog.Meta, error) bool) {
			slices.Values(objects)(func(m *catalog.Meta) bool { return yield(m, nil) })
		}); err != nil {
			t.Fatal(err)
		}
		c, err := r.Catalog()
		if err != nil || textOf(t, c) != textOf(t, want) || len(c.Packages) != 1 {
			t.Errorf("packed %v: %v", pack, err)
		}
		fail.Diff(t, pack, c.Package("p").Bundles[0].Meta.Packed != nil)
		fail.Diff(t, broken, r.Objects("p", func(yield func(*catalog.Meta, error) bool) { yield(nil, broken) }), cmpopts.EquateErrors())
	}
}

// A packed catalog needs a small part of the memory of its text.
func TestPackMemory(t *testing.T) {
	fsys := large(200)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c, err := catalog.Read(t.Context(), fsys, catalog.Options{Pack: true})
	fail.On(t, err)
	for range 3 { // a sync.Pool is empty after two collections
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	text := len(fsys["p/catalog.json"].Data)
	if grown := int(after.HeapAlloc) - int(before.HeapAlloc); grown > text/6 {
		t.Errorf("%d bytes of text take %d", text, grown)
	}
	runtime.KeepAlive(fsys)
	runtime.KeepAlive(c)
}
