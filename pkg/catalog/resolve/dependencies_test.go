package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestPredicates checks for each kind of dependency which bundle satisfies it, or the reason why none
// does. The catalog has x, the dependent, and p in three versions.
func TestPredicates(t *testing.T) {
	t.Parallel()
	const (
		v1, v2, v3 = "c stable p.v1.0.0", "c stable p.v2.0.0", "c stable p.v3.0.0"
		missing    = "no catalog of the configuration has one"
	)
	for name, tc := range map[string]struct {
		property string
		want     string // the addition
		reason   string // or the reason why there is none
	}{
		"api":                             {property: requires("B"), want: v2},
		"api of the head":                 {property: requires("A"), want: v3},
		"missing api":                     {property: requires("Z"), reason: missing},
		"api in another version":          {property: `olm.gvk.required {"group":"g.example","version":"v2","kind":"A"}`, reason: "package p of c provides g.example/v1 A, but no catalog"},
		"api of another group":            {property: `olm.gvk.required {"group":"h.example","version":"v1","kind":"A"}`, reason: missing},
		"invalid api":                     {property: `olm.gvk.required {"group":1}`, reason: "its property olm.gvk.required is invalid"},
		"package":                         {property: requiresPackage("p", ">=1.0.0"), want: v3},
		"package below the head":          {property: requiresPackage("p", ">=1.0.0 <2.0.0"), want: v1},
		"package in two ranges":           {property: requiresPackage("p", "1.0.0 || >=1.5.0 <2.5.0"), want: v2},
		"package in an unavailable range": {property: requiresPackage("p", ">=4.0.0"), reason: "c has package p only in 1.0.0, 2.0.0 and 3.0.0"},
		"package far from the range":      {property: requiresPackage("many", ">=9.0.0"), reason: "c has package many in 6 versions from 1.0.0 to 6.0.0, none of them in the range"},
		"message of the publisher":        {property: constraint(`{"failureMessage":"ask us","any":{"constraints":[{"package":{"packageName":"q","versionRange":">0.0.0"}}]}}`), reason: "(message of the publisher: ask us): no catalog"},
		"missing package":                 {property: requiresPackage("q", ">=1.0.0"), reason: "no catalog of the configuration has package q"},
		"package in an invalid range":     {property: requiresPackage("p", "latest"), reason: `version range "latest"`},
		"package in a v range":            {property: requiresPackage("p", "<v1.4.0"), reason: `version range "<v1.4.0"`},
		"package in a long range":         {property: requiresPackage("p", strings.Repeat("1.0.0 || ", 1000)+"1.0.0"), reason: "its version range has 9005 bytes"},
		"label":                           {property: `olm.label.required {"label":"old"}`, want: v1},
		"missing label":                   {property: `olm.label.required {"label":"new"}`, reason: missing},
		"constraint gvk":                  {property: constraint(`{"gvk":{"group":"g.example","version":"v1","kind":"B"}}`), want: v2},
		"constraint package":              {property: constraint(`{"package":{"packageName":"p","versionRange":"<3.0.0"}}`), want: v2},
		"constraint package range":        {property: constraint(`{"package":{"packageName":"p","versionRange":"newest"}}`), reason: `version range "newest"`},
		"all on one bundle":               {property: constraint(`{"all":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"A"}},{"gvk":{"group":"g.example","version":"v1","kind":"B"}}]}}`), want: v2},
		"all on two bundles":              {property: constraint(`{"all":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"A"}},{"gvk":{"group":"g.example","version":"v1","kind":"Other"}}]}}`), reason: missing},
		"all with not":                    {property: constraint(`{"all":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"A"}},{"not":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"C"}},{"package":{"packageName":"p","versionRange":"2.0.0"}}]}}]}}`), want: v1},
		"any":                             {property: constraint(`{"any":{"constraints":[{"package":{"packageName":"q","versionRange":">0.0.0"}},{"package":{"packageName":"p","versionRange":"<2.0.0"}}]}}`), want: v1},
		"any of nothing":                  {property: constraint(`{"any":{"constraints":[]}}`), reason: missing},
		"not matches the dependent":       {property: constraint(`{"not":{"constraints":[{"package":{"packageName":"p","versionRange":">0.0.0"}}]}}`)},
		"empty constraint":                {property: constraint(`{"failureMessage":"it must be"}`), reason: "it is empty"},
		"the old name of not":             {property: constraint(`{"none":{"constraints":[]}}`), reason: "it is empty"},
		"empty part":                      {property: constraint(`{"all":{"constraints":[{}]}}`), reason: "it is empty"},
		"unknown member":                  {property: constraint(`{"nor":{"constraints":[]}}`), reason: `unknown field "nor"`},
		"unknown member of a part":        {property: constraint(`{"all":{"constraints":[{"gvk":{"plural":"as"}}]}}`), reason: `unknown field "plural"`},
		"invalid constraint":              {property: constraint(`"p"`), reason: "its property olm.constraint is invalid"},
		"long constraint":                 {property: constraint(`{"failureMessage":"` + strings.Repeat("x", 131072) + `"}`), reason: "it has 131093 bytes; the limit of OLM is 131072"},
		"deep constraint":                 {property: constraint(strings.Repeat(`{"not":{"constraints":[`, 70) + `{"gvk":{}}` + strings.Repeat("]}}", 70)), reason: "nested more than 64 levels deep"},
		"cel":                             {property: cel(`properties.exists(p, p.type == "olm.package" && p.value.packageName == "p" && semver_compare(p.value.version, "2.0.0") <= 0)`), want: v2},
		"cel of another property":         {property: cel(`properties.exists(p, p.type == "certified" && p.value == "partly")`), want: v1},
		"cel with a tolerant version":     {property: cel(`properties.exists(p, p.type == "olm.package" && p.value.packageName == "p" && semver_compare(p.value.version, "v1") == 0)`), want: v1},
		"cel in all":                      {property: constraint(`{"all":{"constraints":[{"package":{"packageName":"p","versionRange":">0.0.0"}},{"cel":{"rule":"properties.exists(p, p.type == \"olm.label\")"}}]}}`), want: v1},
		"cel that is never true":          {property: cel(`properties.exists(p, p.type == "no")`), reason: missing},
		"cel that does not compile":       {property: cel(`properties.exists(p`), reason: "does not compile: line 1, column 20: "},
		"cel of another type":             {property: cel(`1 + 1`), reason: "its result has the type int, but must be bool"},
		"cel of an unknown type":          {property: cel(`properties[0].value`), reason: "its result has the type google.protobuf.Any, but must be bool"},
		"cel of unknown variables":        {property: cel(`cluster.version == "4"`), reason: "undeclared reference to 'cluster'"},
		"cel with an error":               {property: cel(`properties[99].type == "x"`), reason: "evaluating the rule fails: index out of bounds: 99"},
		"cel with an invalid version":     {property: cel(`semver_compare("x", "1.0.0") == 0`), reason: "x is not a version"},
		"cel of an omitted property":      {property: cel(`properties.exists(p, p.type == "olm.csv.metadata")`), reason: missing},
		"empty cel":                       {property: cel(``), reason: "does not compile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			many := fbc{}.pkg("many", "stable: many.v1.0.0, many.v2.0.0<many.v1.0.0, many.v3.0.0<many.v2.0.0, many.v4.0.0<many.v3.0.0, many.v5.0.0<many.v4.0.0, many.v6.0.0<many.v5.0.0")
			for i := range 6 {
				many = many.bundle("many", fmt.Sprintf("%d.0.0", i+1))
			}
			whole := many.one("x", tc.property).
				pkg("p", "stable: p.v3.0.0<p.v2.0.0, p.v2.0.0<p.v1.0.0, p.v1.0.0").
				bundle("p", "1.0.0", provides("A"), `olm.label {"label":"old"}`, `certified "partly"`, `olm.csv.metadata {}`).
				bundle("p", "2.0.0", provides("A"), provides("B")).
				bundle("p", "3.0.0", provides("A"), provides("C")).
				one("o", provides("Other")).read(t)
			got := resolve.Dependencies([]resolve.Catalog{{Name: "c", Wanted: true, Kept: cut(whole, "x.v1.0.0"), Original: whole}}, nil)
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if diff := cmp.Diff(want, refs(got.Additions)); diff != "" {
				t.Errorf("added:\n%s%v", diff, got.Unsatisfied)
			}
			if (len(got.Unsatisfied) == 1) != (tc.reason != "") || tc.reason != "" && !strings.Contains(got.Unsatisfied[0].String(), tc.reason) {
				t.Errorf("got %v, want %q", got.Unsatisfied, tc.reason)
			}
			fail.Diff(t, 0, len(got.Satisfied))
		})
	}
}

// TestDependents checks that bundles with the same dependency are listed together, whether it is satisfied or not.
func TestDependents(t *testing.T) {
	t.Parallel()
	whole := fbc{}.pkg("x", "stable: x.v2.0.0<x.v1.0.0, x.v1.0.0").
		bundle("x", "1.0.0", requires("A"), requires("Z")).bundle("x", "2.0.0", requires("A"), requires("Z")).
		one("p", provides("A")).read(t)
	got := resolve.Dependencies([]resolve.Catalog{{Name: "c", Wanted: true, Kept: whole, Original: whole}}, nil)
	both := []string{"x.v1.0.0", "x.v2.0.0"}
	if len(got.Satisfied) != 1 || len(got.Unsatisfied) != 1 || !slices.Equal(got.Satisfied[0].Bundles, both) || !slices.Equal(got.Unsatisfied[0].Bundles, both) {
		t.Errorf("%+v", got)
	}
}

// TestPreference checks that candidates are tried in the order of OLM. x depends on A.
func TestPreference(t *testing.T) {
	t.Parallel()
	dependent := fbc{}.one("x", requires("A"))
	type other struct {
		name     string
		priority int
		fbc
	}
	for name, tc := range map[string]struct {
		own    fbc
		others []other
		kept   []string // of the own catalog, beside x
		want   string
	}{
		"the own catalog beats a priority of 100": {
			own:    fbc{}.one("p", provides("A")),
			others: []other{{"a", 100, fbc{}.one("q", provides("A"))}},
			want:   "own stable p.v1.0.0",
		},
		"0 beats -5": {
			others: []other{{"a", -5, fbc{}.one("p", provides("A"))}, {"b", 0, fbc{}.one("q", provides("A"))}},
			want:   "b stable q.v1.0.0",
		},
		"equal priorities: by name": {
			others: []other{{"b", 7, fbc{}.one("q", provides("A"))}, {"a", 7, fbc{}.one("p", provides("A"))}},
			want:   "a stable p.v1.0.0",
		},
		"a default channel beats another, whatever the package": {
			own: fbc{}.pkg("adb", "stable: adb.v2.0.0", "old: adb.v1.0.0").bundle("adb", "2.0.0").bundle("adb", "1.0.0", provides("A")).
				one("zdb", provides("A")),
			want: "own stable zdb.v1.0.0",
		},
		"default channels by package": {
			own:  fbc{}.one("zdb", provides("A")).one("adb", provides("A")),
			want: "own stable adb.v1.0.0",
		},
		"other channels by name": {
			own: fbc{}.pkg("p", "stable: p.v2.0.0", "b: p.v1.2.0", "a: p.v1.0.0").
				bundle("p", "2.0.0").bundle("p", "1.2.0", provides("A")).bundle("p", "1.0.0", provides("A")),
			want: "own a p.v1.0.0",
		},
		"a channel from the head down, not by version": {
			own: fbc{}.pkg("p", "stable: p.v1.0.0<p.v2.0.0, p.v2.0.0").
				bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0", provides("A")),
			want: "own stable p.v1.0.0",
		},
		"no entry that is skipped": {
			own: fbc{}.pkg("p", "stable: p.v3.0.0<p.v1.0.0-p.v2.0.0, p.v2.0.0<p.v1.0.0, p.v1.0.0").
				bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0", provides("A")).bundle("p", "3.0.0"),
			want: "own stable p.v1.0.0",
		},
		"from below a skipped entry": {
			own: fbc{}.pkg("p", "stable: p.v3.0.0<p.v2.0.0-p.v2.0.0, p.v2.0.0<p.v1.0.0, p.v1.0.0").
				bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0", provides("A")).bundle("p", "3.0.0"),
			want: "own stable p.v1.0.0",
		},
		"no channel with two heads": {
			own: fbc{}.pkg("p", "stable: p.v2.0.0, p.v1.0.0", "z: p.v1.0.0").
				bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0", provides("A")),
			want: "own z p.v1.0.0",
		},
		"no channel with a cycle": {
			own: fbc{}.pkg("p", "stable: p.v3.0.0<p.v2.0.0, p.v2.0.0<p.v1.0.0, p.v1.0.0<p.v2.0.0", "z: p.v1.0.0").
				bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0", provides("A")).bundle("p", "3.0.0", provides("A")),
			want: "own z p.v1.0.0",
		},
		"no deprecated bundle": {
			own: fbc{}.pkg("p", "stable: p.v2.0.0<p.v1.0.0, p.v1.0.0").
				bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0", provides("A"), `olm.deprecated {}`),
			want: "own stable p.v1.0.0",
		},
		"no entry without a bundle": {
			own:  fbc{}.pkg("p", "stable: p.v2.0.0<p.v1.0.0, p.v1.0.0").bundle("p", "1.0.0", provides("A")),
			want: "own stable p.v1.0.0",
		},
		"a kept bundle beats a preferred one": {
			own:  fbc{}.one("adb", provides("A")).one("zdb", provides("A")),
			kept: []string{"zdb.v1.0.0"},
		},
		"a kept but skipped bundle does not": {
			own: fbc{}.pkg("p", "stable: p.v2.0.0-p.v1.0.0, p.v1.0.0").bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0").
				one("q", provides("A")),
			kept: []string{"p.v1.0.0", "p.v2.0.0"},
			want: "own stable q.v1.0.0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := slices.Concat(dependent, tc.own).read(t)
			catalogs := []resolve.Catalog{{Name: "own", Wanted: true, Original: own, Kept: cut(own, append(tc.kept, "x.v1.0.0")...)}}
			for _, o := range tc.others {
				catalogs = append(catalogs, resolve.Catalog{Name: o.name, Priority: o.priority, Original: o.read(t)})
			}
			got := resolve.Dependencies(catalogs, nil)
			if len(got.Unsatisfied) > 0 {
				t.Fatal(got.Unsatisfied)
			}
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			fail.Diff(t, want, refs(got.Additions))
			slices.Reverse(catalogs)
			fail.Diff(t, got, resolve.Dependencies(catalogs, nil))
		})
	}
}

// TestTogether checks that the bundles chosen for a dependent can be installed together with it.
func TestTogether(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fbc
		want   []string
		reason string
	}{
		"a bundle that provides what it depends on": {
			fbc: fbc{}.one("x", requires("A"), provides("A")).one("p", provides("A")),
		},
		"one bundle for two dependencies": {
			fbc:  fbc{}.one("x", requires("A"), requires("B")).one("both", provides("A"), provides("B")).one("b", provides("B")),
			want: []string{"c stable both.v1.0.0"},
		},
		"backtracking for a later dependency": {
			fbc:  fbc{}.one("x", requires("A"), requiresPackage("q", ">0.0.0")).one("p", provides("A")).one("q", provides("A")),
			want: []string{"c stable q.v1.0.0"},
		},
		"one bundle of a package": {
			fbc: fbc{}.one("x", requiresPackage("p", ">=2.0.0"), requires("Old")).
				pkg("p", "stable: p.v2.0.0<p.v1.0.0, p.v1.0.0").bundle("p", "1.0.0", provides("Old")).bundle("p", "2.0.0").
				one("q", provides("Old")),
			want: []string{"c stable p.v2.0.0", "c stable q.v1.0.0"},
		},
		"no second provider of an API of the dependent": {
			fbc:  fbc{}.one("x", requires("A"), provides("X")).one("p", provides("A"), provides("X")).one("q", provides("A")),
			want: []string{"c stable q.v1.0.0"},
		},
		"two incompatible candidates": {
			fbc:    fbc{}.one("x", requires("A"), requires("B")).one("p", provides("A"), provides("C")).one("q", provides("B"), provides("C")),
			want:   []string{"c stable p.v1.0.0"},
			reason: "cannot be installed together",
		},
		"another version of itself": {
			fbc: fbc{}.pkg("x", "stable: x.v2.0.0<x.v1.0.0, x.v1.0.0").bundle("x", "1.0.0", requires("A")).bundle("x", "2.0.0", provides("A")),

			reason: "cannot be installed together",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := tc.read(t)
			got := resolve.Dependencies([]resolve.Catalog{{Name: "c", Wanted: true, Original: whole, Kept: cut(whole, "x.v1.0.0")}}, nil)
			fail.Diff(t, tc.want, refs(got.Additions))
			if (len(got.Unsatisfied) == 1) != (tc.reason != "") || tc.reason != "" && !strings.Contains(got.Unsatisfied[0].Reason, tc.reason) {
				t.Errorf("got %v, want %q", got.Unsatisfied, tc.reason)
			}
		})
	}
}

// A bundle may have any number of dependencies. The time must not grow with their square.
func TestManyDependencies(t *testing.T) {
	t.Parallel()
	properties := []string{requires("A"), requires("A"), `olm.gvk.required {"group":1}`, `olm.gvk.required {"group":1}`}
	for i := range 20_000 {
		properties = append(properties, requires(fmt.Sprint("Z", i)))
	}
	whole := fbc{}.one("x", properties...).one("p", provides("A")).read(t)
	got := resolve.Dependencies([]resolve.Catalog{{Name: "c", Wanted: true, Original: whole, Kept: cut(whole, "x.v1.0.0")}}, nil)
	fail.Diff(t, []string{"c stable p.v1.0.0"}, refs(got.Additions))
	if len(got.Unsatisfied) != 20_001 {
		t.Fatalf("%d unsatisfied dependencies", len(got.Unsatisfied))
	}
	var over int
	for _, u := range got.Unsatisfied {
		if strings.Contains(u.Reason, "more than 1000 dependencies") {
			over++
		}
	}
	if want := 20_001 - 1000; over != want {
		t.Errorf("%d dependencies over the limit, want %d", over, want)
	}
}

func TestClosure(t *testing.T) {
	t.Parallel()
	t.Run("transitive dependencies in catalogs that are not wanted", func(t *testing.T) {
		t.Parallel()
		own := fbc{}.one("x", requires("A")).read(t)
		other := fbc{}.one("p", provides("A"), requires("B")).one("u", requires("Z")).read(t)
		third := fbc{}.one("q", provides("B")).read(t)
		all, last := closure(t, []resolve.Catalog{
			{Name: "own", Wanted: true, Original: own}, {Name: "other", Original: other}, {Name: "third", Original: third},
		}, map[string][]string{"own": {"x.v1.0.0"}, "other": {"u.v1.0.0"}})
		fail.Diff(t, []string{"other stable p.v1.0.0", "third stable q.v1.0.0"}, refs(all))
		if len(last.Unsatisfied) != 0 || len(last.Satisfied) != 2 {
			t.Errorf("got %v", last)
		}
	})
	t.Run("a cycle", func(t *testing.T) {
		t.Parallel()
		whole := fbc{}.one("a", requires("B"), provides("A")).one("b", requires("A"), provides("B")).read(t)
		all, last := closure(t, []resolve.Catalog{{Name: "c", Wanted: true, Original: whole}}, map[string][]string{"c": {"a.v1.0.0"}})
		fail.Diff(t, []string{"c stable b.v1.0.0"}, refs(all))
		want := []resolve.Satisfied{
			{Dependency: resolve.Dependency{Catalog: "c", Package: "a", Bundles: []string{"a.v1.0.0"}, Requirement: "an operator that provides g.example/v1 B"}, By: resolve.BundleRef{Catalog: "c", Package: "b", Channel: "stable", Bundle: "b.v1.0.0"}},
			{Dependency: resolve.Dependency{Catalog: "c", Package: "b", Bundles: []string{"b.v1.0.0"}, Requirement: "an operator that provides g.example/v1 A"}, By: resolve.BundleRef{Catalog: "c", Package: "a", Channel: "stable", Bundle: "a.v1.0.0"}},
		}
		fail.Diff(t, want, last.Satisfied)
	})
	t.Run("an addition that did not help is not repeated", func(t *testing.T) {
		t.Parallel()
		whole := fbc{}.one("x", requires("A")).one("p", provides("A")).one("q", provides("A")).read(t)
		catalogs := []resolve.Catalog{{Name: "c", Wanted: true, Original: whole, Kept: cut(whole, "x.v1.0.0")}}
		first := resolve.Dependencies(catalogs, nil)
		second := resolve.Dependencies(catalogs, first.Additions)
		third := resolve.Dependencies(catalogs, slices.Concat(first.Additions, second.Additions))
		fail.Diff(t, []string{"c stable q.v1.0.0"}, refs(second.Additions))
		if len(third.Additions) != 0 || len(third.Unsatisfied) != 1 || !strings.Contains(third.Unsatisfied[0].Reason, `"p.v1.0.0" of c provides it, but OLM cannot install it from any channel`) {
			t.Errorf("got %v", third)
		}
	})
	t.Run("one addition for several dependents", func(t *testing.T) {
		t.Parallel()
		whole := fbc{}.pkg("x", "stable: x.v2.0.0<x.v1.0.0, x.v1.0.0").bundle("x", "1.0.0", requires("A")).bundle("x", "2.0.0", requires("A")).
			one("y", requiresPackage("p", "<9.0.0"), requires("A")).one("b", provides("A")).one("p", provides("A")).read(t)
		got := resolve.Dependencies([]resolve.Catalog{{Name: "c", Wanted: true, Original: whole, Kept: cut(whole, "x.v1.0.0", "x.v2.0.0", "y.v1.0.0")}}, nil)
		want := resolve.Result{Additions: []resolve.Addition{
			{BundleRef: resolve.BundleRef{Catalog: "c", Package: "b", Channel: "stable", Bundle: "b.v1.0.0"}, For: []resolve.Dependency{
				{Catalog: "c", Package: "x", Bundles: []string{"x.v1.0.0", "x.v2.0.0"}, Requirement: "an operator that provides g.example/v1 A"},
			}},
			{BundleRef: resolve.BundleRef{Catalog: "c", Package: "p", Channel: "stable", Bundle: "p.v1.0.0"}, For: []resolve.Dependency{
				{Catalog: "c", Package: "y", Bundles: []string{"y.v1.0.0"}, Requirement: "package p in the version range <9.0.0"},
				{Catalog: "c", Package: "y", Bundles: []string{"y.v1.0.0"}, Requirement: "an operator that provides g.example/v1 A"},
			}},
		}}
		fail.Diff(t, want, got)
	})
}

func TestNoDependencies(t *testing.T) {
	t.Parallel()
	whole := fbc{}.one("x", requires("A")).one("p", provides("A")).read(t)
	for name, c := range map[string]resolve.Catalog{
		"not wanted":   {Name: "c", Kept: whole, Original: whole},
		"nothing kept": {Name: "c", Wanted: true, Original: whole},
		"nothing":      {Name: "c", Wanted: true},
	} {
		if diff := cmp.Diff(resolve.Result{}, resolve.Dependencies([]resolve.Catalog{c}, nil)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
