package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
)

// TestPredicates holds for each kind of need what meets it, and what is said
// where nothing does. The catalog has x, which asks, and p in three versions.
func TestPredicates(t *testing.T) {
	t.Parallel()
	const (
		v1, v2, v3 = "c stable p.v1.0.0", "c stable p.v2.0.0", "c stable p.v3.0.0"
		nobody     = "no catalog of the configuration has one"
	)
	for name, tc := range map[string]struct {
		ask    string
		want   string // what is added
		reason string // or why not
	}{
		"api":                        {ask: requires("B"), want: v2},
		"api of the head":            {ask: requires("A"), want: v3},
		"api nobody gives":           {ask: requires("Z"), reason: nobody},
		"api in another version":     {ask: `olm.gvk.required {"group":"g.example","version":"v2","kind":"A"}`, reason: "package p of c provides g.example/v1 A, and no catalog"},
		"api of another group":       {ask: `olm.gvk.required {"group":"h.example","version":"v1","kind":"A"}`, reason: nobody},
		"api that is none":           {ask: `olm.gvk.required {"group":1}`, reason: "its property olm.gvk.required cannot be read"},
		"package":                    {ask: requiresPackage("p", ">=1.0.0"), want: v3},
		"package below the head":     {ask: requiresPackage("p", ">=1.0.0 <2.0.0"), want: v1},
		"package in two ranges":      {ask: requiresPackage("p", "1.0.0 || >=1.5.0 <2.5.0"), want: v2},
		"package without a version":  {ask: requiresPackage("p", ">=4.0.0"), reason: "c has package p only in 1.0.0, 2.0.0 and 3.0.0"},
		"package nobody has":         {ask: requiresPackage("q", ">=1.0.0"), reason: "no catalog of the configuration has package q"},
		"package in no range":        {ask: requiresPackage("p", "latest"), reason: `version range "latest"`},
		"package in a v range":       {ask: requiresPackage("p", "<v1.4.0"), reason: `version range "<v1.4.0"`},
		"package in a long range":    {ask: requiresPackage("p", strings.Repeat("1.0.0 || ", 1000)+"1.0.0"), reason: "its version range has 9005 bytes"},
		"label":                      {ask: `olm.label.required {"label":"old"}`, want: v1},
		"label nobody has":           {ask: `olm.label.required {"label":"new"}`, reason: nobody},
		"constraint gvk":             {ask: constraint(`{"gvk":{"group":"g.example","version":"v1","kind":"B"}}`), want: v2},
		"constraint package":         {ask: constraint(`{"package":{"packageName":"p","versionRange":"<3.0.0"}}`), want: v2},
		"constraint package range":   {ask: constraint(`{"package":{"packageName":"p","versionRange":"newest"}}`), reason: `version range "newest"`},
		"all on one bundle":          {ask: constraint(`{"all":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"A"}},{"gvk":{"group":"g.example","version":"v1","kind":"B"}}]}}`), want: v2},
		"all on two bundles":         {ask: constraint(`{"all":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"A"}},{"gvk":{"group":"g.example","version":"v1","kind":"Other"}}]}}`), reason: nobody},
		"all with not":               {ask: constraint(`{"all":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"A"}},{"not":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"C"}},{"package":{"packageName":"p","versionRange":"2.0.0"}}]}}]}}`), want: v1},
		"any":                        {ask: constraint(`{"any":{"constraints":[{"package":{"packageName":"q","versionRange":">0.0.0"}},{"package":{"packageName":"p","versionRange":"<2.0.0"}}]}}`), want: v1},
		"any of nothing":             {ask: constraint(`{"any":{"constraints":[]}}`), reason: nobody},
		"not is met by the asker":    {ask: constraint(`{"not":{"constraints":[{"package":{"packageName":"p","versionRange":">0.0.0"}}]}}`)},
		"empty constraint":           {ask: constraint(`{"failureMessage":"it must be"}`), reason: "it is empty"},
		"the old name of not":        {ask: constraint(`{"none":{"constraints":[]}}`), reason: "it is empty"},
		"empty part":                 {ask: constraint(`{"all":{"constraints":[{}]}}`), reason: "it is empty"},
		"unknown member":             {ask: constraint(`{"nor":{"constraints":[]}}`), reason: `unknown field "nor"`},
		"unknown member of a part":   {ask: constraint(`{"all":{"constraints":[{"gvk":{"plural":"as"}}]}}`), reason: `unknown field "plural"`},
		"constraint that is none":    {ask: constraint(`"p"`), reason: "its property olm.constraint cannot be read"},
		"constraint that is long":    {ask: constraint(`{"failureMessage":"` + strings.Repeat("x", 131072) + `"}`), reason: "it has 131093 bytes, and OLM reads at most 131072"},
		"constraint that is deep":    {ask: constraint(strings.Repeat(`{"not":{"constraints":[`, 70) + `{"gvk":{}}` + strings.Repeat("]}}", 70)), reason: "nested more than 64 deep"},
		"cel":                        {ask: cel(`properties.exists(p, p.type == "olm.package" && p.value.packageName == "p" && semver_compare(p.value.version, "2.0.0") <= 0)`), want: v2},
		"cel of another property":    {ask: cel(`properties.exists(p, p.type == "certified" && p.value == "partly")`), want: v1},
		"cel with a tolerant reader": {ask: cel(`properties.exists(p, p.type == "olm.package" && p.value.packageName == "p" && semver_compare(p.value.version, "v1") == 0)`), want: v1},
		"cel in all":                 {ask: constraint(`{"all":{"constraints":[{"package":{"packageName":"p","versionRange":">0.0.0"}},{"cel":{"rule":"properties.exists(p, p.type == \"olm.label\")"}}]}}`), want: v1},
		"cel that holds for nobody":  {ask: cel(`properties.exists(p, p.type == "no")`), reason: nobody},
		"cel that does not compile":  {ask: cel(`properties.exists(p`), reason: "does not compile: line 1, column 20: "},
		"cel of another type":        {ask: cel(`1 + 1`), reason: "its result is of type int, and must be bool"},
		"cel of an unknown type":     {ask: cel(`properties[0].value`), reason: "its result is of type google.protobuf.Any, and must be bool"},
		"cel of unknown variables":   {ask: cel(`cluster.version == "4"`), reason: "undeclared reference to 'cluster'"},
		"cel that gives an error":    {ask: cel(`properties[99].type == "x"`), reason: "evaluating the rule gives an error: index out of bounds: 99"},
		"cel that compares nothing":  {ask: cel(`semver_compare("x", "1.0.0") == 0`), reason: "x is not a version"},
		"cel of what opm leaves out": {ask: cel(`properties.exists(p, p.type == "olm.csv.metadata")`), reason: nobody},
		"cel that is empty":          {ask: cel(``), reason: "does not compile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := fbc{}.one("x", tc.ask).
				pkg("p", "stable: p.v3.0.0<p.v2.0.0, p.v2.0.0<p.v1.0.0, p.v1.0.0").
				bundle("p", "1.0.0", provides("A"), `olm.label {"label":"old"}`, `certified "partly"`, `olm.csv.metadata {}`).
				bundle("p", "2.0.0", provides("A"), provides("B")).
				bundle("p", "3.0.0", provides("A"), provides("C")).
				one("o", provides("Other")).read(t)
			got := resolve.Needs([]resolve.Catalog{{Name: "c", Wanted: true, Kept: cut(whole, "x.v1.0.0"), Whole: whole}}, nil)
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if diff := cmp.Diff(want, places(got.Additions)); diff != "" {
				t.Errorf("added:\n%s%v", diff, got.Unmet)
			}
			if (len(got.Unmet) == 1) != (tc.reason != "") || tc.reason != "" && !strings.Contains(got.Unmet[0].Reason, tc.reason) {
				t.Errorf("got %v, want %q", got.Unmet, tc.reason)
			}
			if len(got.Met) != 0 {
				t.Errorf("met: %v", got.Met)
			}
		})
	}
}

// TestPreference holds that candidates are tried in OLM's order. x asks for A.
func TestPreference(t *testing.T) {
	t.Parallel()
	ask := fbc{}.one("x", requires("A"))
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
		"no bundle that nobody may install": {
			own: fbc{}.pkg("p", "stable: p.v2.0.0<p.v1.0.0, p.v1.0.0").
				bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0", provides("A"), `olm.deprecated {}`),
			want: "own stable p.v1.0.0",
		},
		"no entry without a bundle": {
			own:  fbc{}.pkg("p", "stable: p.v2.0.0<p.v1.0.0, p.v1.0.0").bundle("p", "1.0.0", provides("A")),
			want: "own stable p.v1.0.0",
		},
		"what is kept beats what is preferred": {
			own:  fbc{}.one("adb", provides("A")).one("zdb", provides("A")),
			kept: []string{"zdb.v1.0.0"},
		},
		"what is kept and skipped does not": {
			own: fbc{}.pkg("p", "stable: p.v2.0.0-p.v1.0.0, p.v1.0.0").bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0").
				one("q", provides("A")),
			kept: []string{"p.v1.0.0", "p.v2.0.0"},
			want: "own stable q.v1.0.0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := slices.Concat(ask, tc.own).read(t)
			catalogs := []resolve.Catalog{{Name: "own", Wanted: true, Whole: own, Kept: cut(own, append(tc.kept, "x.v1.0.0")...)}}
			for _, o := range tc.others {
				catalogs = append(catalogs, resolve.Catalog{Name: o.name, Priority: o.priority, Whole: o.read(t)})
			}
			got := resolve.Needs(catalogs, nil)
			if len(got.Unmet) > 0 {
				t.Fatal(got.Unmet)
			}
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if diff := cmp.Diff(want, places(got.Additions)); diff != "" {
				t.Error(diff)
			}
			slices.Reverse(catalogs)
			if diff := cmp.Diff(got, resolve.Needs(catalogs, nil)); diff != "" {
				t.Errorf("with the catalogs in another order:\n%s", diff)
			}
		})
	}
}

// TestTogether holds that what is chosen for a bundle could be installed with it.
func TestTogether(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fbc
		want   []string
		reason string
	}{
		"a bundle that gives what it needs": {
			fbc: fbc{}.one("x", requires("A"), provides("A")).one("p", provides("A")),
		},
		"one bundle for two needs": {
			fbc:  fbc{}.one("x", requires("A"), requires("B")).one("both", provides("A"), provides("B")).one("b", provides("B")),
			want: []string{"c stable both.v1.0.0"},
		},
		"going back for a later need": {
			fbc:  fbc{}.one("x", requires("A"), requiresPackage("q", ">0.0.0")).one("p", provides("A")).one("q", provides("A")),
			want: []string{"c stable q.v1.0.0"},
		},
		"one bundle of a package": {
			fbc: fbc{}.one("x", requiresPackage("p", ">=2.0.0"), requires("Old")).
				pkg("p", "stable: p.v2.0.0<p.v1.0.0, p.v1.0.0").bundle("p", "1.0.0", provides("Old")).bundle("p", "2.0.0").
				one("q", provides("Old")),
			want: []string{"c stable p.v2.0.0", "c stable q.v1.0.0"},
		},
		"nobody that gives what the asker gives": {
			fbc:  fbc{}.one("x", requires("A"), provides("X")).one("p", provides("A"), provides("X")).one("q", provides("A")),
			want: []string{"c stable q.v1.0.0"},
		},
		"two that exclude each other": {
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
			got := resolve.Needs([]resolve.Catalog{{Name: "c", Wanted: true, Whole: whole, Kept: cut(whole, "x.v1.0.0")}}, nil)
			if diff := cmp.Diff(tc.want, places(got.Additions)); diff != "" {
				t.Error(diff)
			}
			if (len(got.Unmet) == 1) != (tc.reason != "") || tc.reason != "" && !strings.Contains(got.Unmet[0].Reason, tc.reason) {
				t.Errorf("got %v, want %q", got.Unmet, tc.reason)
			}
		})
	}
}

// A bundle may ask for any number of things; the time that takes must not grow
// with the square of it.
func TestManyNeeds(t *testing.T) {
	t.Parallel()
	asks := []string{requires("A"), requires("A"), `olm.gvk.required {"group":1}`, `olm.gvk.required {"group":1}`}
	for i := range 20_000 {
		asks = append(asks, requires(fmt.Sprint("Z", i)))
	}
	whole := fbc{}.one("x", asks...).one("p", provides("A")).read(t)
	got := resolve.Needs([]resolve.Catalog{{Name: "c", Wanted: true, Whole: whole, Kept: cut(whole, "x.v1.0.0")}}, nil)
	if diff := cmp.Diff([]string{"c stable p.v1.0.0"}, places(got.Additions)); diff != "" {
		t.Error(diff)
	}
	if len(got.Unmet) != 20_001 {
		t.Fatalf("%d unmet needs", len(got.Unmet))
	}
	var over int
	for _, u := range got.Unmet {
		if strings.Contains(u.Reason, "more than 1000 things") {
			over++
		}
	}
	if want := 20_001 - 1000; over != want {
		t.Errorf("%d needs are over the limit, want %d", over, want)
	}
}

func TestClosure(t *testing.T) {
	t.Parallel()
	t.Run("needs of needs, over catalogs that want nothing themselves", func(t *testing.T) {
		t.Parallel()
		own := fbc{}.one("x", requires("A")).read(t)
		other := fbc{}.one("p", provides("A"), requires("B")).one("u", requires("Z")).read(t)
		third := fbc{}.one("q", provides("B")).read(t)
		all, last := closure(t, []resolve.Catalog{
			{Name: "own", Wanted: true, Whole: own}, {Name: "other", Whole: other}, {Name: "third", Whole: third},
		}, map[string][]string{"own": {"x.v1.0.0"}, "other": {"u.v1.0.0"}})
		if diff := cmp.Diff([]string{"other stable p.v1.0.0", "third stable q.v1.0.0"}, places(all)); diff != "" {
			t.Error(diff)
		}
		if len(last.Unmet) != 0 || len(last.Met) != 2 {
			t.Errorf("got %v", last)
		}
	})
	t.Run("a circle", func(t *testing.T) {
		t.Parallel()
		whole := fbc{}.one("a", requires("B"), provides("A")).one("b", requires("A"), provides("B")).read(t)
		all, last := closure(t, []resolve.Catalog{{Name: "c", Wanted: true, Whole: whole}}, map[string][]string{"c": {"a.v1.0.0"}})
		if diff := cmp.Diff([]string{"c stable b.v1.0.0"}, places(all)); diff != "" {
			t.Error(diff)
		}
		want := []resolve.Met{
			{Need: resolve.Need{Catalog: "c", Package: "a", Bundles: []string{"a.v1.0.0"}, Wants: "an operator that provides g.example/v1 B"}, By: resolve.Place{Catalog: "c", Package: "b", Channel: "stable", Bundle: "b.v1.0.0"}},
			{Need: resolve.Need{Catalog: "c", Package: "b", Bundles: []string{"b.v1.0.0"}, Wants: "an operator that provides g.example/v1 A"}, By: resolve.Place{Catalog: "c", Package: "a", Channel: "stable", Bundle: "a.v1.0.0"}},
		}
		if diff := cmp.Diff(want, last.Met); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("what did not help is not added twice", func(t *testing.T) {
		t.Parallel()
		whole := fbc{}.one("x", requires("A")).one("p", provides("A")).one("q", provides("A")).read(t)
		catalogs := []resolve.Catalog{{Name: "c", Wanted: true, Whole: whole, Kept: cut(whole, "x.v1.0.0")}}
		first := resolve.Needs(catalogs, nil)
		second := resolve.Needs(catalogs, first.Additions)
		third := resolve.Needs(catalogs, slices.Concat(first.Additions, second.Additions))
		if diff := cmp.Diff([]string{"c stable q.v1.0.0"}, places(second.Additions)); diff != "" {
			t.Error(diff)
		}
		if len(third.Additions) != 0 || len(third.Unmet) != 1 || !strings.Contains(third.Unmet[0].Reason, `"p.v1.0.0" of c does, but OLM installs it from none`) {
			t.Errorf("got %v", third)
		}
	})
	t.Run("one addition for several that ask", func(t *testing.T) {
		t.Parallel()
		whole := fbc{}.pkg("x", "stable: x.v2.0.0<x.v1.0.0, x.v1.0.0").bundle("x", "1.0.0", requires("A")).bundle("x", "2.0.0", requires("A")).
			one("y", requiresPackage("p", "<9.0.0"), requires("A")).one("b", provides("A")).one("p", provides("A")).read(t)
		got := resolve.Needs([]resolve.Catalog{{Name: "c", Wanted: true, Whole: whole, Kept: cut(whole, "x.v1.0.0", "x.v2.0.0", "y.v1.0.0")}}, nil)
		want := resolve.Result{Additions: []resolve.Addition{
			{Place: resolve.Place{Catalog: "c", Package: "b", Channel: "stable", Bundle: "b.v1.0.0"}, For: []resolve.Need{
				{Catalog: "c", Package: "x", Bundles: []string{"x.v1.0.0", "x.v2.0.0"}, Wants: "an operator that provides g.example/v1 A"},
			}},
			{Place: resolve.Place{Catalog: "c", Package: "p", Channel: "stable", Bundle: "p.v1.0.0"}, For: []resolve.Need{
				{Catalog: "c", Package: "y", Bundles: []string{"y.v1.0.0"}, Wants: "package p in the version range <9.0.0"},
				{Catalog: "c", Package: "y", Bundles: []string{"y.v1.0.0"}, Wants: "an operator that provides g.example/v1 A"},
			}},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNobodyAsks(t *testing.T) {
	t.Parallel()
	whole := fbc{}.one("x", requires("A")).one("p", provides("A")).read(t)
	for name, c := range map[string]resolve.Catalog{
		"not wanted":   {Name: "c", Kept: whole, Whole: whole},
		"nothing kept": {Name: "c", Wanted: true, Whole: whole},
		"nothing":      {Name: "c", Wanted: true},
	} {
		if diff := cmp.Diff(resolve.Result{}, resolve.Needs([]resolve.Catalog{c}, nil)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	n := resolve.Need{Catalog: "cs-redhat", Package: "a", Bundles: []string{"a.v1", "a.v2"}, Wants: "an operator that provides g/v1 K"}
	if got, want := n.String(), `bundles "a.v1" and "a.v2" of cs-redhat need an operator that provides g/v1 K`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	n.Bundles = []string{"a.v1"}
	u := resolve.Unmet{Need: n, Reason: "no catalog has one"}
	if got, want := u.String(), `bundle "a.v1" of cs-redhat needs an operator that provides g/v1 K: no catalog has one`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	n.Bundles = []string{"a.v1", "a.v2", "a.v3", "a.v4", "a.v5"}
	if got, want := n.Asker(), `bundles "a.v1", "a.v2", "a.v3" and 2 more of cs-redhat`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
