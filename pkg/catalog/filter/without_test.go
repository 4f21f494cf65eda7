package filter

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// dropped returns the argument of Without for bundles "p.v1.0.0".
func dropped(pkg string, versions ...string) map[string]map[string]bool {
	drop := map[string]map[string]bool{pkg: {}}
	for _, v := range versions {
		drop[pkg][pkg+".v"+v] = true
	}
	return drop
}

func TestWithout(t *testing.T) {
	t.Parallel()
	const text = `{"schema":"olm.package","name":"p","defaultChannel":"new"}
{"schema":"olm.channel","package":"p","name":"new","entries":[{"name":"p.v2.0.0","replaces":"p.v1.1.0"}]}
{"schema":"olm.channel","package":"p","name":"old","entries":[{"name":"p.v1.0.0"}]}
{"schema":"olm.channel","package":"p","name":"stable","entries":[{"name":"p.v1.0.0"},{"name":"p.v1.1.0","replaces":"p.v1.0.0"},{"name":"p.v2.0.0","replaces":"p.v1.1.0"}]}
{"schema":"olm.channel","package":"p","name":"fork","entries":[{"name":"p.v1.0.0"},{"name":"p.v1.1.0"},{"name":"p.v2.0.0","skips":["p.v1.0.0","p.v1.1.0"]}]}
{"schema":"olm.deprecations","package":"p","entries":[{"reference":{"schema":"olm.bundle","name":"p.v2.0.0"},"message":"m"},{"reference":{"schema":"olm.channel","name":"new"},"message":"m"},{"reference":{"schema":"olm.bundle","name":"p.v1.0.0"},"message":"m"}]}`
	c := small(t, "p", text, "1.0.0", "1.1.0", "2.0.0")
	for _, tc := range []struct {
		versions []string
		left     Left
		heads    string // of the channels that are left
		bundles  int
	}{
		// The fork keeps it: it would have two heads.
		{[]string{"2.0.0"}, Left{Package: "p", Dropped: []string{"new"}, Needed: []string{"fork"}, DefaultChannel: "fork"}, "fork=p.v2.0.0 old=p.v1.0.0 stable=p.v1.1.0", 3},
		// One that others replace, which leads nowhere else.
		{[]string{"1.1.0"}, Left{Package: "p"}, "fork=p.v2.0.0 new=p.v2.0.0 old=p.v1.0.0", 3},
		{[]string{"1.1.0", "2.0.0"}, Left{Package: "p", Dropped: []string{"new"}, DefaultChannel: "fork"}, "fork=p.v1.0.0 old=p.v1.0.0 stable=p.v1.0.0", 1},
		{[]string{"1.0.0", "1.1.0", "2.0.0"}, Left{Package: "p", Dropped: []string{"fork", "new", "old", "stable"}}, "", 0},
	} {
		got, left, err := Without(c, dropped("p", tc.versions...))
		fail.On(t, err)
		name := strings.Join(tc.versions, " ")
		if name == "1.1.0" { // stable needs it, since 2.0.0 would be one of two heads
			tc.left.Needed, tc.heads = []string{"stable"}, tc.heads+" stable=p.v2.0.0"
		}
		if diff := cmp.Diff([]Left{tc.left}, left); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		p := got.Package("p")
		if p == nil {
			if tc.bundles > 0 || len(got.Names) > 0 {
				t.Errorf("%s: the package is gone", name)
			}
			continue
		}
		r, err := Apply(got, imageset.Operator{Catalog: "c"})
		if err != nil {
			t.Fatal(name, err)
		}
		heads := elements.Map(r.Packages[0].Channels, func(ch Channel) string { return ch.Name + "=" + ch.Head })
		if text := strings.Join(heads, " "); text != tc.heads || len(p.Bundles) != tc.bundles {
			t.Errorf("%s: %s, %d bundles", name, text, len(p.Bundles))
		}
		if err := validate.Catalog(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c.Package("p").DefaultChannel != "new" || len(c.Package("p").Channel("stable").Entries) != 3 {
		t.Error("the original was changed")
	}
}

// TestWithoutHeads removes the heads of real catalogs, several times. The rest stays valid, and can be filtered.
func TestWithoutHeads(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"testdata/catalog", "../../../../shared/catalogs"} {
		if _, err := os.Stat(dir); err != nil || testing.Short() && dir != "testdata/catalog" {
			continue
		}
		c := read(t, dir)
		if err := validate.Catalog(c); err != nil {
			t.Logf("%s is not valid: %v", dir, err)
			continue
		}
		random := rand.New(rand.NewPCG(1, 2))
		drop := map[string]map[string]bool{}
		for range 3 {
			r, err := Apply(mustWithout(t, c, drop), imageset.Operator{Catalog: "c"})
			fail.On(t, err)
			for _, p := range r.Packages {
				for _, b := range p.Bundles {
					if random.IntN(3) > 0 {
						if drop[p.Name] == nil {
							drop[p.Name] = map[string]bool{}
						}
						drop[p.Name][b.Name] = true
					}
				}
			}
			mustWithout(t, c, drop)
		}
	}
}

func mustWithout(t *testing.T, c *catalog.Catalog, drop map[string]map[string]bool) *catalog.Catalog {
	t.Helper()
	got, _, err := Without(c, drop)
	fail.On(t, err)
	fail.On(t, validate.Catalog(got))
	return got
}
