package resolve_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzConstraint reads a property that declares a dependency. It must be satisfied or have a reason, and
// the result must be deterministic; an addition must satisfy it in the next round.
func FuzzConstraint(f *testing.F) {
	for _, seed := range []string{
		requires("A"), requiresPackage("p", ">=1.0.0 <2.0.0 || 3.0.0 !1.2.0-rc1"), `olm.label.required {"label":"l"}`,
		constraint(`{"all":{"constraints":[{"gvk":{"group":"g.example","version":"v1","kind":"A"}},{"not":{"constraints":[{"package":{"packageName":"p","versionRange":"<1.x"}}]}}]}}`),
		constraint(`{"any":{"constraints":[{"none":{}},{"failureMessage":"\u001b[31m"}]}}`),
		constraint(`{"gvk":1}`), constraint(`[]`), constraint(`null`), `olm.gvk.required {"group":null}`,
		cel(`properties.exists(p, p.type == "olm.package" && semver_compare(p.value.version, "1.0") > 0)`),
		cel(`properties.map(p, p.value).filter(v, v in [1, "a"]).size() > 0 || properties[3] == {"a": b"\x00"}`),
		cel(`"a".matches("a{1000}") ? timestamp("2020-01-01T00:00:00Z").getFullYear() > 2000 : [[1]] + [[2]] == []`),
	} {
		kind, value, _ := strings.Cut(seed, " ")
		f.Add(kind, value)
	}
	whole := fbc{}.one("x").one("q", provides("B"), `other [1,{"a":null}]`).
		pkg("p", "stable: p.v2.0.0<p.v1.0.0, p.v1.0.0").
		bundle("p", "1.0.0", provides("A")).bundle("p", "2.0.0", `olm.label {"label":"l"}`).read(f)
	x := whole.Package("x").Bundles[0]
	own := slices.Clip(x.Properties)
	f.Fuzz(func(t *testing.T, kind, value string) {
		if !json.Valid([]byte(value)) {
			return
		}
		x.Properties = append(own, catalog.Property{Type: kind, Value: []byte(value)})
		resolveAgain := func(added []resolve.Addition, kept ...string) resolve.Result {
			return resolve.Dependencies([]resolve.Catalog{{Name: "c", Wanted: true, Original: whole, Kept: cut(whole, kept...)}}, added)
		}
		got := resolveAgain(nil, "x.v1.0.0")
		fail.Diff(t, got, resolveAgain(nil, "x.v1.0.0"))
		if len(got.Satisfied) > 0 || len(got.Additions)+len(got.Unsatisfied) > 1 {
			t.Errorf("got %v", got)
		}
		for _, u := range got.Unsatisfied {
			if u.Reason == "" || strings.ContainsAny(u.String(), "\x00\x1b\n") || len(u.String()) > 4000 {
				t.Errorf("got %q", u)
			}
		}
		if len(got.Additions) == 0 {
			return
		}
		a := got.Additions[0]
		next := resolveAgain(got.Additions, "x.v1.0.0", a.Bundle)
		if len(next.Additions) > 0 || len(next.Unsatisfied) > 0 || len(next.Satisfied) != 1 || next.Satisfied[0].By != a.BundleRef || !slices.Equal(next.Satisfied[0].Bundles, a.For[0].Bundles) {
			t.Errorf("%v was added, then %v", a, next)
		}
	})
}
