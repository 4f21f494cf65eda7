package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// outlined returns the expected outline of a package.
func outlined(p *catalog.Package) *catalog.Package {
	meta := func(m *catalog.Meta) *catalog.Meta {
		bare := *m
		bare.Raw = nil
		return &bare
	}
	o := &catalog.Package{Name: p.Name, DefaultChannel: p.DefaultChannel}
	for _, m := range p.Metas {
		o.Metas = append(o.Metas, meta(m))
	}
	for _, c := range p.Channels {
		o.Channels = append(o.Channels, &catalog.Channel{Meta: meta(c.Meta), Package: c.Package, Name: c.Name, Entries: c.Entries})
	}
	for _, b := range p.Bundles {
		bare := *b
		bare.Meta, bare.Image, bare.RelatedImages, bare.Properties = meta(b.Meta), "", nil, nil
		for _, p := range b.Properties {
			switch p.Type {
			case "olm.bundle.object", "olm.csv.metadata":
				continue
			}
			bare.Properties = append(bare.Properties, p)
		}
		o.Bundles = append(o.Bundles, &bare)
	}
	return o
}

var compareErrors = cmp.Comparer(func(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
})

func TestOutlines(t *testing.T) {
	whole := quirks(t, catalog.Options{})
	none := func(string) bool { return false }
	c := quirks(t, catalog.Options{Keep: none, Outline: true})
	if len(c.Packages) != 0 || len(c.Others) != 1 {
		t.Errorf("got %d packages and %d others", len(c.Packages), len(c.Others))
	}
	want := []*catalog.Package{outlined(whole.Package("crane"))}
	fail.Diff(t, want, c.Outlines, compareErrors)
	if c := quirks(t, catalog.Options{Outline: true}); len(c.Outlines) != 0 || len(c.Packages) != 1 {
		t.Errorf("got %d packages and %d outlines", len(c.Packages), len(c.Outlines))
	}
	if c := quirks(t, catalog.Options{Keep: none}); len(c.Outlines) != 0 {
		t.Errorf("got %d unrequested outlines", len(c.Outlines))
	}
}

// A part of these names would be an escape in JSON text if it were not quoted.
func TestNamesAreNoEscapes(t *testing.T) {
	const text = `{"schema":"olm.package","name":"a"}
		{"schema":"olm.bundle","package":"a","name":"b\\u0063\"\\","properties":[{"type":"olm.package","value":{"packageName":"a","version":"1.0.0"}}]}`
	const want = `b\u0063"\`
	for name, options := range map[string]catalog.Options{
		"outlines":  {Keep: func(string) bool { return false }, Outline: true},
		"drop text": {DropText: func(*catalog.Bundle) {}},
	} {
		r := catalog.NewReader(options)
		fail.On(t, r.File("a.json", strings.NewReader(text)))
		c, err := r.Catalog()
		fail.On(t, err)
		for _, p := range slices.Concat(c.Packages, c.Outlines) {
			if got := p.Bundles[0]; got.Name != want || got.Meta.Name != want {
				t.Errorf("%s: the bundle is %q, its object %q, and it should be %q", name, got.Name, got.Meta.Name, want)
			}
		}
		if len(c.Packages)+len(c.Outlines) != 1 {
			t.Errorf("%s: %d packages and %d outlines", name, len(c.Packages), len(c.Outlines))
		}
	}
}

func TestOutlineProblems(t *testing.T) {
	text := `{"schema": "olm.package", "name": "p"}
{"schema": "olm.bundle", "package": "q", "name": "q.v1", "image": 5, "properties": [{"type": "x"}, {"type": 5}]}`
	_, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(text)}}, catalog.Options{
		Keep: func(pkg string) bool { return pkg == "p" }, Outline: true,
	})
	var found *catalog.Error
	if !errors.As(err, &found) || err.Error() != "f:2: olm.bundle q.v1 of package q: properties[1].type: must be a string, not 5" {
		t.Errorf("got %v", err)
	}
	// Problems of ignored files are not reported.
	c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(text)}, "g": {Data: nil}, ".indexignore": {Data: []byte("f")}}, catalog.Options{
		Keep: func(string) bool { return false }, Outline: true,
	})
	if err != nil || len(c.Outlines) != 0 {
		t.Errorf("got %v and %v", c, err)
	}
}

// TestOutlineMemory checks that an outline needs a small part of the memory of its package.
func TestOutlineMemory(t *testing.T) {
	fsys := generated(20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c, err := catalog.Read(t.Context(), fsys, catalog.Options{Keep: func(string) bool { return false }, Outline: true})
	fail.On(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	bundles := 0
	for _, p := range c.Outlines {
		bundles += len(p.Bundles)
	}
	const most = 2500
	if grown := int(after.HeapAlloc-before.HeapAlloc) / bundles; grown > most {
		t.Errorf("a bundle takes %d bytes, more than %d", grown, most)
	}
	runtime.KeepAlive(fsys)
	runtime.KeepAlive(c)
}

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
