package filter_test

import (
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// An outlined package is filtered as if it had been read completely.
func TestOutlines(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"c.yaml": {Data: []byte(`---
{schema: olm.package, name: a, defaultChannel: s}
---
{schema: olm.channel, package: a, name: s, entries: [{name: a.v1}]}
---
{schema: olm.bundle, package: a, name: a.v1, image: r/a, properties: [{type: olm.package, value: {packageName: a, version: 1.0.0}}]}
---
{schema: olm.package, name: b, defaultChannel: s}
---
{schema: olm.channel, package: b, name: s, entries: [{name: b.v1}, {name: b.v2, replaces: b.v1}]}
---
{schema: olm.channel, package: b, name: old, entries: [{name: b.v0}, {name: b.v1, replaces: b.v0}]}
---
{schema: olm.bundle, package: b, name: b.v0, image: r/b, properties: [{type: olm.package, value: {packageName: b, version: 0.1.0}}]}
---
{schema: olm.bundle, package: b, name: b.v1, image: r/b, properties: [{type: olm.package, value: {packageName: b, version: 1.0.0}}]}
---
{schema: olm.bundle, package: b, name: b.v2, image: r/b, properties: [{type: olm.package, value: {packageName: b, version: 2.0.0}}]}
---
{schema: olm.package, name: broken, defaultChannel: s}
---
{schema: olm.channel, package: broken, name: s, entries: [{name: lone}, {name: other}]}
`)}}
	needed := filter.Required{Package: "b", Channel: "old", Bundle: "b.v0", For: "another"}
	for name, test := range map[string]struct {
		op       imageset.Operator
		required []filter.Required
		want     []string // outlined
	}{
		"heads":          {imageset.Operator{}, nil, []string{"b old b.v1", "b s b.v2"}},
		"needed":         {imageset.Operator{}, []filter.Required{needed}, []string{"b old b.v0 b.v1", "b s b.v2"}},
		"installed":      {imageset.Operator{Installed: []imageset.Installed{{Package: "b", Bundle: "b.v1"}}}, nil, []string{"b old b.v1", "b s b.v1 b.v2"}},
		"full":           {imageset.Operator{Full: true}, nil, []string{"b old b.v0 b.v1", "b s b.v1 b.v2", "broken s lone other"}},
		"named packages": {imageset.Operator{Packages: []imageset.Package{{Name: "a"}}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := catalog.Read(t.Context(), files, catalog.Options{Keep: func(name string) bool { return name == "a" }, Outline: true})
			fail.On(t, err)
			r, err := filter.Apply(c, test.op, test.required...)
			fail.On(t, err)
			var got []string
			for _, p := range r.Catalog.Outlines {
				for _, ch := range p.Channels {
					text := p.Name + " " + ch.Name
					for _, e := range ch.Entries {
						text += " " + e.Name
					}
					got = append(got, text)
				}
			}
			fail.Diff(t, test.want, got)
			if len(r.Catalog.Packages) != 1 || r.Catalog.Package("a") == nil {
				t.Errorf("read: %d packages", len(r.Catalog.Packages))
			}
		})
	}
}
