package filter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// The tests TestT2 to TestT9 cover mistakes that other tools made.

func apply(t *testing.T, op imageset.Operator) *Result {
	t.Helper()
	result, err := Apply(read(t, "testdata/catalog"), op)
	fail.On(t, err)
	return result
}

// Keeping only heads strands clusters that run older bundles. Even a head alone still updates what it updated before.
func TestT2OlderInstallsKeepTheirPath(t *testing.T) {
	head := apply(t, chain(imageset.Package{})).Catalog.Packages[0].Channel("stable").Entries
	want := []catalog.Entry{{Name: "chain.v1.3.0", Replaces: "chain.v1.2.0", SkipRange: ">=1.1.0 <1.3.0"}}
	fail.Diff(t, want, head)
}

// A dropped channel's deprecation is dropped too. (T5) The deprecations of kept objects and the
// objects of other schemas stay byte for byte.
func TestT4DeprecationsFollowTheirTargets(t *testing.T) {
	p := apply(t, chain(imageset.Package{Range: imageset.Range{Min: "1.1.0"}})).Catalog.Packages[0]
	want := []catalog.Deprecation{{Schema: "olm.package", Message: "moved"}, {Schema: "olm.channel", Name: "fast", Message: "too fast"}}
	if len(p.Deprecations) != 1 {
		t.Fatalf("%d objects", len(p.Deprecations))
	}
	fail.Diff(t, want, p.Deprecations[0].Entries)
	raw := string(p.Deprecations[0].Meta.Raw)
	if strings.Contains(raw, "too old") || strings.Contains(raw, "leaks") || !strings.Contains(raw, "too fast") {
		t.Errorf("the object says %s", raw)
	}
}

func TestT5OtherSchemasSurvive(t *testing.T) {
	original := read(t, "testdata/catalog")
	result, err := Apply(original, chain(imageset.Package{}))
	fail.On(t, err)
	if p := result.Catalog.Packages[0]; len(p.Others) != 1 || p.Others[0] != original.Package("chain").Others[0] {
		t.Errorf("of the package: %v", p.Others)
	}
	if len(result.Catalog.Others) != 1 || result.Catalog.Others[0] != original.Others[0] {
		t.Errorf("of the catalog: %v", result.Catalog.Others)
	}
	if b := result.Catalog.Packages[0].Bundle("chain.v1.3.0"); !bytes.Contains(b.Meta.Raw, []byte("9007199254740993")) {
		t.Errorf("a large integer was not kept: %s", b.Meta.Raw)
	}
	m := apply(t, chain(imageset.Package{Channels: channels("fast")})).Catalog.Packages[0].Metas[0]
	if !bytes.Contains(m.Raw, []byte("9007199254740993")) || !bytes.Contains(m.Raw, []byte(`"fast"`)) {
		t.Errorf("a package with another default is written %s", m.Raw)
	}
	without := apply(t, hung(imageset.Package{}))
	if len(without.Catalog.Packages) != 1 || len(without.Catalog.Packages[0].Others) != 0 {
		t.Errorf("objects of other packages were kept")
	}
}

// Pre-releases are ordinary versions.
func TestT6PreReleasesInARange(t *testing.T) {
	for r, want := range map[imageset.Range][]string{
		{Min: "1.2.0", Max: "1.3.0"}:     {"chain.v1.2.0", "chain.v1.3.0-5", "chain.v1.3.0"},
		{Min: "1.3.0-5", Max: "1.3.0-5"}: {"chain.v1.3.0-5"},
		{Min: "1.3.0-6", Max: "1.3.0"}:   {"chain.v1.3.0"},
		{Max: "1.3.0-4"}:                 {"chain.v1.2.0"},
	} {
		result := apply(t, chain(imageset.Package{Channels: []imageset.Channel{{Name: "fast", Range: r}}}))
		got := elements.Map(result.Catalog.Packages[0].Channels[0].Entries, func(e catalog.Entry) string { return e.Name })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", r, diff)
		}
	}
}

// The order of names in a configuration does not change the result.
func TestT9OrderOfTheConfiguration(t *testing.T) {
	want := []imageset.Package{
		{Name: "odd"}, {Name: "hung", Range: imageset.Range{Min: "1.1.0", Max: "1.3.0"}}, {Name: "chain", Channels: channels("stable", "fast")},
	}
	one := apply(t, imageset.Operator{Packages: want})
	slices.Reverse(want)
	slices.Reverse(want[0].Channels)
	other := apply(t, imageset.Operator{Packages: want})
	if !sameBytes(t, one.Catalog, other.Catalog) {
		t.Error("other bytes")
	}
	fail.Diff(t, summary(one), summary(other))
}

// Channels that OLM would reject cause no panic, but an error message.
func TestBrokenCatalogs(t *testing.T) {
	for _, tc := range []struct {
		name, channel string
		want          imageset.Package
		err           string
	}{
		{"two heads", `[{"name":"b.v1"},{"name":"b.v2"}]`, imageset.Package{}, "more than one head: b.v1, b.v2"},
		{"no head", `[{"name":"b.v1","replaces":"b.v2"},{"name":"b.v2","replaces":"b.v1"}]`, imageset.Package{}, "it has no head"},
		{"no entries", `[]`, imageset.Package{}, "nothing is selected"},
		{"no entries, named", `[]`, imageset.Package{Channels: channels("c")}, "has no entries"},
		{"stranded", `[{"name":"b.v1"},{"name":"b.v2","replaces":"b.v1"},{"name":"b.v3","replaces":"b.v4","skips":["b.v4"]},{"name":"b.v4","replaces":"b.v1","skips":["b.v2"]}]`, imageset.Package{Range: imageset.Range{Min: "1.0.0"}}, "update graph is broken"},
		{"the same entry twice", `[{"name":"b.v1"},{"name":"b.v1"},{"name":"b.v2","replaces":"b.v1"}]`, imageset.Package{Range: imageset.Range{Min: "1.0.0"}}, ""},
		{"an invalid skipRange connects nothing", `[{"name":"b.v1"},{"name":"b.v2","skipRange":"<v2.0.0"},{"name":"b.v3","skips":["b.v1","b.v2"]}]`, pins("b.v1", "b.v2"), "also pin b.v3"},
		{"a cycle below the head", `[{"name":"b.v3","replaces":"b.v2"},{"name":"b.v2","replaces":"b.v1"},{"name":"b.v1","replaces":"b.v2"}]`, imageset.Package{Range: imageset.Range{Max: "2.0.0"}}, "update graph is broken"},
		{"a cycle that is not selected", `[{"name":"b.v3","replaces":"b.v2"},{"name":"b.v2","replaces":"b.v1"},{"name":"b.v1","replaces":"b.v2"}]`, imageset.Package{}, ""},
		{"ten thousand skips", `[{"name":"b.v1"},{"name":"b.v2","replaces":"b.v1","skips":["b.v0"` + strings.Repeat(`,"b.v0.x"`, 10_000) + `]}]`, imageset.Package{Range: imageset.Range{Min: "1.0.0"}}, ""},
		{"an entry without a bundle", `[{"name":"b.v9","replaces":"b.v1"},{"name":"b.v1"}]`, imageset.Package{Range: imageset.Range{Max: "1.0.0"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var file strings.Builder
			file.WriteString(`{"schema":"olm.package","name":"b","defaultChannel":"c"}`)
			fmt.Fprintf(&file, `{"schema":"olm.channel","package":"b","name":"c","entries":%s}`, tc.channel)
			for i := 1; i <= 4; i++ {
				fmt.Fprintf(&file, `{"schema":"olm.bundle","package":"b","name":"b.v%d","image":"r.example/b:%d","properties":[{"type":"olm.package","value":{"packageName":"b","version":"%d.0.0"}}]}`, i, i, i)
			}
			c, err := catalog.Read(t.Context(), fstest.MapFS{"b.json": {Data: []byte(file.String())}}, catalog.Options{})
			fail.On(t, err)
			tc.want.Name = "b"
			op := imageset.Operator{Packages: []imageset.Package{tc.want}}
			result, err := Apply(c, op)
			op.Installed = []imageset.Installed{{Package: "b", Bundle: "b.v1"}, {Package: "b", Version: "0.5.0"}}
			if _, again := Apply(c, op); (err == nil) != (again == nil) && (again == nil || !strings.Contains(again.Error(), "update graph is broken")) {
				t.Errorf("with installed operators: %v", again)
			}
			switch {
			case tc.err == "" && err != nil:
				t.Error(err)
			case tc.err != "" && (result != nil || err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("error %v", err)
			}
		})
	}
}
