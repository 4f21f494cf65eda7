package filter

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// large is a catalog of the size of a whole index: 600 packages, 1,800 channels of 17 entries,
// 10,200 bundles, and skips of 36,000 names that do not exist.
func large(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	fsys := fstest.MapFS{}
	for p := range 600 {
		var b strings.Builder
		name := fmt.Sprintf("package-%03d", p)
		fmt.Fprintf(&b, `{"schema":"olm.package","name":%q,"defaultChannel":"c0"}`, name)
		const bundles = 17
		for c := range 3 {
			fmt.Fprintf(&b, `{"schema":"olm.channel","package":%q,"name":"c%d","entries":[`, name, c)
			for i := range bundles {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `{"name":"%s.v1.%d.0","replaces":"%s.v1.%d.0","skipRange":">=1.0.0 <1.%d.0","skips":[`, name, i, name, i-1, i)
				for j := 0; i == bundles-1 && j < 20; j++ {
					fmt.Fprintf(&b, `"%s.v0.%d.0",`, name, j)
				}
				b.WriteString(`"x"]}`)
			}
			b.WriteString("]}\n")
		}
		for i := range bundles {
			fmt.Fprintf(&b, `{"schema":"olm.bundle","package":%q,"name":"%s.v1.%d.0","image":"r.example/p:%d","properties":[{"type":"olm.package","value":{"packageName":%q,"version":"1.%d.0"}}]}`, name, name, i, i, name, i)
		}
		fsys[name+".json"] = &fstest.MapFile{Data: []byte(b.String())}
	}
	c, err := catalog.Read(tb.Context(), fsys, catalog.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func BenchmarkApply(b *testing.B) {
	c := large(b)
	ways := map[string]func(*imageset.Package){
		"full": nil,
		"range": func(p *imageset.Package) {
			p.Range = imageset.Range{Min: "1.4.0", Max: "1.12.0"}
		},
		"heads": func(*imageset.Package) {},
	}
	for name, way := range ways {
		op := imageset.Operator{Full: way == nil}
		for _, p := range c.Packages {
			want := imageset.Package{Name: p.Name}
			if way != nil {
				way(&want)
			}
			op.Packages = append(op.Packages, want)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Apply(c, op); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One channel of 150 entries that the head skips, beside thousands of names that do not exist.
func BenchmarkApplyHungChannel(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"schema":"olm.package","name":"p","defaultChannel":"c"}{"schema":"olm.channel","package":"p","name":"c","entries":[{"name":"p.v1.150.0","skips":["x"`)
	for i := range 150 {
		fmt.Fprintf(&text, `,"p.v1.%d.0"`, i)
	}
	for i := range 5000 {
		fmt.Fprintf(&text, `,"p.v0.%d.0"`, i)
	}
	text.WriteString(`]}`)
	for i := range 150 {
		fmt.Fprintf(&text, `,{"name":"p.v1.%d.0"}`, i)
	}
	text.WriteString(`]}`)
	for i := range 151 {
		fmt.Fprintf(&text, `{"schema":"olm.bundle","package":"p","name":"p.v1.%d.0","properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.%d.0"}}]}`, i, i)
	}
	c, err := catalog.Read(b.Context(), fstest.MapFS{"p.json": {Data: []byte(text.String())}}, catalog.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		result, err := Apply(c, imageset.Operator{Packages: []imageset.Package{{Name: "p", Range: imageset.Range{Max: "1.100.0"}}}})
		if err != nil || len(result.Packages[0].Bundles) != 102 {
			b.Fatal(err, result)
		}
	}
}
