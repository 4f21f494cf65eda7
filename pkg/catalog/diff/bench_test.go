package diff_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
)

// large returns a catalog of 10,000 bundles in 600 packages.
func large(t testing.TB) *catalog.Catalog {
	t.Helper()
	filler := string(bytes.Repeat([]byte("metadata "), 2000))
	var objects []object
	for p := range 600 {
		pkg := fmt.Sprint("p", p)
		objects = append(objects, object{"schema": "olm.package", "name": pkg, "defaultChannel": "c0"})
		for c := range 3 {
			var entries []object
			for i := range 17 {
				entries = append(entries, object{"name": fmt.Sprint(pkg, ".v1.", i, ".0"), "replaces": fmt.Sprint(pkg, ".v1.", i-1, ".0"), "skipRange": fmt.Sprintf("<1.%d.0", i)})
			}
			objects = append(objects, object{"schema": "olm.channel", "package": pkg, "name": fmt.Sprint("c", c), "entries": entries})
		}
		for i := range 17 {
			objects = append(objects, object{
				"schema": "olm.bundle", "package": pkg, "name": fmt.Sprint(pkg, ".v1.", i, ".0"), "image": "i",
				"properties": []object{{"type": "olm.package", "value": object{"packageName": pkg, "version": fmt.Sprintf("1.%d.0", i)}}, {"type": "olm.csv.metadata", "value": filler}},
			})
		}
	}
	return build(t, objects)
}

func BenchmarkCompare(b *testing.B) {
	c := large(b)
	indented := rewritten(b, c)
	for _, bm := range []struct {
		name string
		with *catalog.Catalog
	}{{"same text", c}, {"written otherwise", indented}, {"nothing", &catalog.Catalog{}}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				diff.Compare(c, bm.with)
			}
		})
	}
}
