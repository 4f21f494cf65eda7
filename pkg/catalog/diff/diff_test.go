package diff_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// read reads a catalog of one file.
func read(t testing.TB, text string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}, catalog.Options{})
	fail.On(t, err)
	return c
}

const before = `
schema: olm.package
name: foo
defaultChannel: stable
description: Foo
icon: {base64data: aWNvbg==, mediatype: image/png}
---
schema: olm.channel
package: foo
name: stable
entries:
- name: foo.v1.0.0
- {name: foo.v1.1.0, replaces: foo.v1.0.0}
---
schema: olm.channel
package: foo
name: old
entries: [{name: foo.v1.0.0}]
---
schema: olm.bundle
package: foo
name: foo.v1.0.0
image: example.com/foo@sha256:1
properties:
- {type: olm.package, value: {packageName: foo, version: 1.0.0}}
- {type: olm.gvk, value: {group: g, version: v1, kind: Foo}}
relatedImages:
- {name: a, image: example.com/a}
- {name: b, image: example.com/b}
---
schema: olm.bundle
package: foo
name: foo.v1.1.0
image: example.com/foo@sha256:2
properties:
- {type: olm.package, value: {packageName: foo, version: 1.1.0}}
---
schema: olm.deprecations
package: foo
entries:
- {reference: {schema: olm.package}, message: go}
- {reference: {schema: olm.bundle, name: foo.v1.0.0}, message: old}
---
schema: com.example.lifecycle
package: foo
name: life
number: 9007199254740993
---
schema: com.example.global
name: motd
---
schema: olm.package
name: gone
defaultChannel: a
---
schema: olm.channel
package: gone
name: a
entries: [{name: gone.v1.0.0}]
---
schema: olm.bundle
package: gone
name: gone.v1.0.0
image: example.com/gone
properties: [{type: olm.package, value: {packageName: gone, version: 1.0.0}}]
---
schema: olm.package
name: same
defaultChannel: a
---
schema: olm.channel
package: same
name: a
entries: [{name: same.v1.0.0}]
---
schema: olm.bundle
package: same
name: same.v1.0.0
image: example.com/same
properties: [{type: olm.package, value: {packageName: same, version: 1.0.0}}]
`

const after = `
schema: olm.package
name: foo
defaultChannel: fast
description: Foo 2
icon: {base64data: aWNvbjI=, mediatype: image/png}
---
schema: olm.channel
package: foo
name: stable
entries:
- {name: foo.v1.1.0, skips: [foo.v1.0.0]}
- {name: foo.v1.2.0, replaces: foo.v1.1.0, skips: [foo.v0.9.0], skipRange: <1.2.0}
---
schema: olm.channel
package: foo
name: fast
entries: [{name: foo.v1.2.0}]
---
schema: olm.bundle
package: foo
name: foo.v1.1.0
image: example.com/foo@sha256:22
properties:
- {type: olm.package, value: {packageName: foo, version: 1.1.1}}
- {type: olm.gvk, value: {group: g, version: v2, kind: Foo}}
relatedImages:
- {name: a, image: example.com/a}
new: true
---
schema: olm.bundle
package: foo
name: foo.v1.2.0
image: example.com/foo@sha256:3
properties:
- {type: olm.package, value: {packageName: foo, version: 1.2.0, release: r1}}
---
schema: olm.deprecations
package: foo
entries:
- {reference: {schema: olm.package}, message: go now}
- {reference: {schema: olm.channel, name: stable}, message: use fast}
---
schema: com.example.lifecycle
package: foo
name: life
number: 9007199254740992
---
schema: olm.package
name: same
defaultChannel: a
---
schema: olm.channel
package: same
name: a
entries: [{name: same.v1.0.0}]
---
schema: olm.bundle
package: same
name: same.v1.0.0
image: example.com/same
properties: [{value: {version: 1.0.0, packageName: same}, type: olm.package}]
---
schema: olm.package
name: zoo
---
schema: olm.bundle
package: zoo
name: zoo.v1.0.0
image: example.com/zoo
`

func TestCompare(t *testing.T) {
	t.Parallel()
	got := diff.Compare(read(t, before), read(t, after))
	want := &diff.Diff{
		Packages: []diff.Package{
			{Change: diff.Changed, Name: "foo", DefaultChannel: &diff.Text{Old: "stable", New: "fast"}, Members: []string{"description", "icon"}},
			{Change: diff.Removed, Name: "gone", DefaultChannel: &diff.Text{Old: "a"}},
			{Change: diff.Added, Name: "zoo"},
		},
		Channels: []diff.Channel{
			{Change: diff.Added, Package: "foo", Name: "fast", Head: &diff.Text{New: "foo.v1.2.0"}, EntriesAdded: []string{"foo.v1.2.0"}},
			{Change: diff.Removed, Package: "foo", Name: "old", Head: &diff.Text{Old: "foo.v1.0.0"}, EntriesRemoved: []string{"foo.v1.0.0"}},
			{
				Change: diff.Changed, Package: "foo", Name: "stable", Head: &diff.Text{Old: "foo.v1.1.0", New: "foo.v1.2.0"},
				EntriesAdded: []string{"foo.v1.2.0"}, EntriesRemoved: []string{"foo.v1.0.0"}, EntriesChanged: []string{"foo.v1.1.0"},
			},
			{Change: diff.Removed, Package: "gone", Name: "a", Head: &diff.Text{Old: "gone.v1.0.0"}, EntriesRemoved: []string{"gone.v1.0.0"}},
		},
		Bundles: []diff.Bundle{
			{Change: diff.Removed, Package: "foo", Name: "foo.v1.0.0", Version: &diff.Text{Old: "1.0.0"}, Image: &diff.Text{Old: "example.com/foo@sha256:1"}},
			{
				Change: diff.Changed, Package: "foo", Name: "foo.v1.1.0",
				Version:       &diff.Text{Old: "1.1.0", New: "1.1.1"},
				Image:         &diff.Text{Old: "example.com/foo@sha256:2", New: "example.com/foo@sha256:22"},
				RelatedImages: []diff.RelatedImage{{Change: diff.Added, Name: "a", Image: "example.com/a"}},
				Properties: []diff.Property{
					{Type: "olm.gvk", Added: []string{`{"group":"g","kind":"Foo","version":"v2"}`}},
					{Type: "olm.package", Added: []string{`{"packageName":"foo","version":"1.1.1"}`}, Removed: []string{`{"packageName":"foo","version":"1.1.0"}`}},
				},
				Members: []string{"new"},
			},
			{Change: diff.Added, Package: "foo", Name: "foo.v1.2.0", Version: &diff.Text{New: "1.2.0-r1"}, Image: &diff.Text{New: "example.com/foo@sha256:3"}},
			{Change: diff.Removed, Package: "gone", Name: "gone.v1.0.0", Version: &diff.Text{Old: "1.0.0"}, Image: &diff.Text{Old: "example.com/gone"}},
			{Change: diff.Added, Package: "zoo", Name: "zoo.v1.0.0", Image: &diff.Text{New: "example.com/zoo"}},
		},
		// The edge from 1.0.0 to 1.1.0 remains, by another member.
		Edges: []diff.Edge{
			{Change: diff.Added, Package: "foo", Channel: "stable", From: "foo.v0.9.0", To: "foo.v1.2.0", By: diff.BySkips},
			{Change: diff.Added, Package: "foo", Channel: "stable", From: "foo.v1.0.0", To: "foo.v1.2.0", By: diff.BySkipRange},
			{Change: diff.Added, Package: "foo", Channel: "stable", From: "foo.v1.1.0", To: "foo.v1.2.0", By: diff.ByReplaces},
		},
		Deprecations: []diff.Deprecation{
			{Change: diff.Removed, Package: "foo", Schema: "olm.bundle", Name: "foo.v1.0.0", Message: diff.Text{Old: "old"}},
			{Change: diff.Added, Package: "foo", Schema: "olm.channel", Name: "stable", Message: diff.Text{New: "use fast"}},
			{Change: diff.Changed, Package: "foo", Schema: "olm.package", Message: diff.Text{Old: "go", New: "go now"}},
		},
		Others: []diff.Other{
			{Change: diff.Removed, Schema: "com.example.global", Name: "motd"},
			{Change: diff.Changed, Schema: "com.example.lifecycle", Package: "foo", Name: "life", Members: []string{"number"}},
		},
	}
	fail.Diff(t, want, got)
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	d := diff.Compare(read(t, before), read(t, after))
	const want = `- com.example.global motd
~ package foo: default channel stable -> fast, description, icon
  + channel fast: head foo.v1.2.0, 1 entry
  - channel old: head foo.v1.0.0, 1 entry
  ~ channel stable: head foo.v1.1.0 -> foo.v1.2.0, 1 entry added, 1 entry removed, 1 entry with other edges
  - bundle foo.v1.0.0
  ~ bundle foo.v1.1.0: version 1.1.0 -> 1.1.1, image example.com/foo@sha256:2 -> example.com/foo@sha256:22, related images +1, olm.gvk +1, olm.package +1 -1, new
  + bundle foo.v1.2.0
  + edge of channel stable: foo.v0.9.0 -> foo.v1.2.0 (skips)
  + edge of channel stable: foo.v1.0.0 -> foo.v1.2.0 (skipRange)
  + edge of channel stable: foo.v1.1.0 -> foo.v1.2.0 (replaces)
  - deprecation of bundle foo.v1.0.0: "old"
  + deprecation of channel stable: "use fast"
  ~ deprecation of package foo: "go now"
  ~ com.example.lifecycle life: number
- package gone: 1 channel, 1 bundle
+ package zoo: 0 channels, 1 bundle
`
	var got strings.Builder
	fail.On(t, d.WriteText(&got, 0))
	fail.Diff(t, want, got.String())

	got.Reset()
	fail.On(t, d.WriteText(&got, 2))
	first := strings.Join(strings.SplitAfter(want, "\n")[:2], "")
	fail.Diff(t, first+"and 15 more lines\n", got.String())

	broken := errors.New("broken pipe")
	fail.Diff(t, broken, d.WriteText(writerFunc(func([]byte) (int, error) { return 0, broken }), 0), cmpopts.EquateErrors())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A name in a catalog must not reach the terminal as a control sequence.
func TestWriteTextOfHostileNames(t *testing.T) {
	t.Parallel()
	d := diff.Compare(&catalog.Catalog{}, read(t, `{"schema": "x", "name": "a\u001b[2J\nb`+strings.Repeat("c", 1000)+`"}`))
	var got strings.Builder
	fail.On(t, d.WriteText(&got, 10))
	if strings.ContainsAny(got.String(), "\x1b") || strings.Count(got.String(), "\n") != 1 || len(got.String()) > 500 {
		t.Errorf("got %q", got.String())
	}
}

// Members of an olm.deprecations object other than its entries are compared, too.
func TestCompareDeprecationsObject(t *testing.T) {
	t.Parallel()
	const pkg = "schema: olm.package\nname: p\n---\n"
	for _, tc := range []struct {
		name, before, after string
		want                []diff.Other
	}{
		{"an empty object", pkg, pkg + "schema: olm.deprecations\npackage: p\nentries: []\n", []diff.Other{
			{Change: diff.Added, Schema: "olm.deprecations", Package: "p"},
		}},
		{
			"another member",
			pkg + "schema: olm.deprecations\npackage: p\nentries: [{reference: {schema: olm.package}, message: a}]\n",
			pkg + "schema: olm.deprecations\npackage: p\nx: 1\nentries: [{reference: {schema: olm.package}, message: b}]\n",
			[]diff.Other{{Change: diff.Changed, Schema: "olm.deprecations", Package: "p", Members: []string{"x"}}},
		},
		{
			"an entry's own member",
			pkg + "schema: olm.deprecations\npackage: p\nentries: [{reference: {schema: olm.package}, message: a}]\n",
			pkg + "schema: olm.deprecations\npackage: p\nentries: [{reference: {schema: olm.package}, message: a, x: 1}]\n",
			[]diff.Other{{Change: diff.Changed, Schema: "olm.deprecations", Package: "p", Members: []string{"entries"}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fail.Diff(t, tc.want, diff.Compare(read(t, tc.before), read(t, tc.after)).Others)
		})
	}
}

// Programs iterate over the lists in the JSON, so empty lists are present.
func TestEmptyJSON(t *testing.T) {
	t.Parallel()
	c := read(t, before)
	d := diff.Compare(c, c)
	if !d.Empty() {
		t.Errorf("a catalog differs from itself: %+v", d)
	}
	got, err := json.Marshal(d)
	fail.On(t, err)
	if want := `{"packages":[],"channels":[],"bundles":[],"edges":[],"deprecations":[],"others":[]}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var text strings.Builder
	if err := d.WriteText(&text, 0); err != nil || text.Len() > 0 {
		t.Errorf("got %q, %v", text.String(), err)
	}
}
