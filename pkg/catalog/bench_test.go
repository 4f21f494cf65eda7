package catalog_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// generated returns a catalog of about that many megabytes with one package per megabyte, indented
// as opm does it, like a public index.
func generated(megabytes int) fstest.MapFS {
	manifest := strings.Repeat(`{\"apiVersion\": \"example.com/v1\", \"kind\": \"Gantry\"}\n`, 200)
	description := strings.Repeat("Carries catalogs across an air gap, and says why. ", 150)
	fsys := fstest.MapFS{}
	for p := range megabytes {
		var text bytes.Buffer
		pkg := fmt.Sprintf("package-%03d", p)
		fmt.Fprintf(&text, "{\n    \"schema\": \"olm.package\",\n    \"name\": %q,\n    \"defaultChannel\": \"stable\"\n}\n", pkg)
		fmt.Fprintf(&text, "{\n    \"schema\": \"olm.channel\",\n    \"name\": \"stable\",\n    \"package\": %q,\n    \"entries\": [", pkg)
		const bundles = 30
		for i := range bundles {
			if i > 0 {
				fmt.Fprintf(&text, ",\n        {\"name\": \"%s.v1.0.%d\", \"replaces\": \"%s.v1.0.%d\"}", pkg, i, pkg, i-1)
			} else {
				fmt.Fprintf(&text, "\n        {\"name\": \"%s.v1.0.%d\"}", pkg, i)
			}
		}
		text.WriteString("\n    ]\n}\n")
		for i := range bundles {
			fmt.Fprintf(&text, "{\n    \"schema\": \"olm.bundle\",\n    \"name\": \"%s.v1.0.%d\",\n    \"package\": %q,\n    \"image\": \"registry.example.com/%s/bundle@sha256:%064d\",\n    \"properties\": [", pkg, i, pkg, pkg, i)
			fmt.Fprintf(&text, "\n        {\n            \"type\": \"olm.package\",\n            \"value\": {\n                \"packageName\": %q,\n                \"version\": \"1.0.%d\"\n            }\n        }", pkg, i)
			for k := range 15 {
				fmt.Fprintf(&text, ",\n        {\n            \"type\": \"olm.gvk\",\n            \"value\": {\n                \"group\": \"%s.example.com\",\n                \"kind\": \"Kind%d\",\n                \"version\": \"v1\"\n            }\n        }", pkg, k)
			}
			fmt.Fprintf(&text, ",\n        {\n            \"type\": \"olm.csv.metadata\",\n            \"value\": {\n                \"annotations\": {\n                    \"alm-examples\": \"%s\"\n                },\n                \"description\": %q\n            }\n        }\n    ],\n    \"relatedImages\": [", manifest, description)
			for k := range 7 {
				if k > 0 {
					text.WriteByte(',')
				}
				fmt.Fprintf(&text, "\n        {\n            \"name\": \"image-%d\",\n            \"image\": \"registry.example.com/%s/image-%d@sha256:%064d\"\n        }", k, pkg, k, i)
			}
			text.WriteString("\n    ]\n}\n")
		}
		fsys[pkg+"/catalog.json"] = &fstest.MapFile{Data: text.Bytes()}
	}
	return fsys
}

func BenchmarkRead(b *testing.B) {
	fsys := generated(40)
	size := 0
	for _, f := range fsys {
		size += len(f.Data)
	}
	for name, keep := range map[string]func(string) bool{
		"whole":       nil,
		"one package": func(pkg string) bool { return pkg == "package-007" },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := catalog.Read(b.Context(), fsys, catalog.Options{Keep: keep}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
