package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Rows of channel_entry, and the resulting entries.
func TestEntries(t *testing.T) {
	for name, tc := range map[string]struct {
		head string
		rows string // id, bundle, replaces, depth
		want []catalog.Entry
	}{
		"a chain": {
			"a.v3", "(1, 'a.v3', 2, 0), (2, 'a.v2', 3, 1), (3, 'a.v1', NULL, 2)",
			[]catalog.Entry{{Name: "a.v1"}, {Name: "a.v2", Replaces: "a.v1"}, {Name: "a.v3", Replaces: "a.v2"}},
		},
		"skips of the head": {
			"a.v3", "(1, 'a.v3', 6, 0), (2, 'a.v2', NULL, 1), (3, 'a.v3', 2, 1), (4, 'a.v0', NULL, 2), (5, 'a.v3', 4, 2), (6, 'a.v1', NULL, 3)",
			[]catalog.Entry{{Name: "a.v1"}, {Name: "a.v2"}, {Name: "a.v3", Replaces: "a.v1", Skips: []string{"a.v2", "a.v0"}}},
		},
		"a channel that begins at another depth": {
			"a.v2", "(1, 'a.v2', 2, 1), (2, 'a.v1', NULL, 2)",
			[]catalog.Entry{{Name: "a.v1"}, {Name: "a.v2", Replaces: "a.v1"}},
		},
		"no depths": {
			"a.v2", "(1, 'a.v2', 2, NULL), (2, 'a.v1', NULL, NULL), (3, 'a.v2', 4, NULL), (4, 'a.v3', NULL, NULL)",
			[]catalog.Entry{{Name: "a.v1"}, {Name: "a.v2", Replaces: "a.v1", Skips: []string{"a.v3"}}, {Name: "a.v3"}},
		},
		"a missing head": {
			"a.v9", "(1, 'a.v2', 2, 0), (2, 'a.v1', NULL, 1)",
			[]catalog.Entry{{Name: "a.v1"}, {Name: "a.v2", Replaces: "a.v1"}},
		},
		"off the chain": {
			"a.v3", "(1, 'a.v3', NULL, 0), (2, 'a.v2', 4, 7), (3, 'a.v2', 1, 8), (4, 'a.v1', NULL, 9)",
			[]catalog.Entry{{Name: "a.v1"}, {Name: "a.v2", Replaces: "a.v1", Skips: []string{"a.v3"}}, {Name: "a.v3"}},
		},
		"a cycle": {
			"a.v2", "(1, 'a.v2', 2, 0), (2, 'a.v1', 1, 1), (3, 'a.v1', 3, 2)",
			[]catalog.Entry{{Name: "a.v1", Replaces: "a.v2", Skips: []string{"a.v1"}}, {Name: "a.v2", Replaces: "a.v1"}},
		},
		"nothing at the other end": {
			"a.v1", "(1, 'a.v1', 77, 0)", []catalog.Entry{{Name: "a.v1"}},
		},
		"a duplicate edge": {
			"a.v2", "(1, 'a.v2', NULL, 0), (2, 'a.v1', NULL, 1), (3, 'a.v2', 2, 1), (4, 'a.v1', NULL, 2), (5, 'a.v2', 4, 2)",
			[]catalog.Entry{{Name: "a.v1"}, {Name: "a.v2", Skips: []string{"a.v1"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := create(t, schema, "INSERT INTO package VALUES ('a', 'x')")
			d.exec("INSERT INTO channel VALUES ('x', 'a', ?)", tc.head)
			d.exec("INSERT INTO channel_entry SELECT column1, 'x', 'a', column2, column3, column4 FROM (VALUES " + tc.rows + ")")
			for i := range 4 {
				d.exec("INSERT INTO operatorbundle (name, version, bundlepath) VALUES (?, ?, 'quay.io/a')", fmt.Sprintf("a.v%d", i), fmt.Sprintf("%d.0.0", i))
			}
			d.exec("DELETE FROM operatorbundle WHERE name = 'a.v0'")
			got := read(t, d.close()).Package("a").Channel("x").Entries
			fail.Diff(t, tc.want, got)
		})
	}
}

// For random operators the entries match the ClusterServiceVersions from which opm makes the rows.
func TestEntriesOfOperators(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		d := create(t, schema, "INSERT INTO package VALUES ('a', 'x')")
		bundles := map[string]operator{}
		var names []string
		for i := range 2 + random.IntN(12) {
			o := operator{name: fmt.Sprintf("a.v%02d", i), version: fmt.Sprintf("%d.0.0", i), image: "quay.io/a"}
			if i > 0 {
				o.replaces = names[random.IntN(i)]
			}
			for range random.IntN(4) {
				if skip := fmt.Sprintf("a.v%02d", random.IntN(20)); skip != o.name && !slices.Contains(o.skips, skip) {
					o.skips = append(o.skips, skip)
				}
			}
			bundles[o.name] = o
			names = append(names, o.name)
			d.bundle(o)
		}
		head := names[len(names)-1]
		d.channel("a", "x", head, bundles)

		// What is replaced from the head down, and what these skip if it exists.
		want := map[string]catalog.Entry{}
		for name := head; name != ""; name = bundles[name].replaces {
			o := bundles[name]
			want[name] = catalog.Entry{Name: name, Replaces: o.replaces, Skips: o.skips}
		}
		for _, e := range want {
			for _, skip := range e.Skips {
				if _, known := want[skip]; !known && bundles[skip].name != "" {
					want[skip] = catalog.Entry{Name: skip}
				}
			}
		}
		got := map[string]catalog.Entry{}
		for _, e := range read(t, d.close()).Package("a").Channel("x").Entries {
			got[e.Name] = e
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("entries of %+v (-want +got):\n%s", bundles, diff)
		}
	}
}
