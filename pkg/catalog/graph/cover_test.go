package graph

import (
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		outer, inner string
		want         bool
	}{
		{"", "", true},
		{">=1.0.0 <2.0.0", "", true},
		{"", "<1.0.0", false},
		{">=1.0.0 <2.0.0", ">=1.0.0 <2.0.0", true},
		{">=1.0.0 <2.0.0", ">=1.2.0 <1.9.0", true},
		{">=1.0.0 <2.0.0", ">=1.0.0 <=2.0.0", false},
		{">=1.0.0 <2.0.0", ">=1.0.0-0 <2.0.0", false},
		{"<2.0.0", ">=1.0.0-0 <2.0.0", true},
		{">1.0.0", ">=1.0.0", false},
		{">=1.0.1-0", ">1.0.0", true},
		{">=1.0.1", ">1.0.0", false},
		{">=1.0.0 !1.5.0", ">=1.0.0 <1.5.0", true},
		{">=1.0.0 !1.5.0", ">=1.0.0 <=1.5.0", false},
		{"1.22.8 || >=1.25.0 <1.26.0", "1.22.8", true},
		{"1.22.8 || >=1.25.0 <1.26.0", ">=1.25.3 <1.26.0", true},
		{"1.22.8 || >=1.25.0 <1.26.0", "1.22.8 || 1.24.0", false},
		{"<1.x || >=1.0.0 <2.0.0", "1.x", true},
		{"1.2.x", ">=1.2.0 <1.3.0", true},
		{"1.2.x", "1.x", false},
		{"<v1.4.0", "<1.0.0", false},
		{"<1.0.0", "<v1.4.0", true},
	} {
		fail.Diff(t, tc.want, Covers(catalog.Entry{SkipRange: tc.outer}, catalog.Entry{SkipRange: tc.inner}))
	}
}

// FuzzRange checks that a valid range is an edge for exactly the versions that it covers, and an
// invalid one for none, without panics; and that a version covered by a covered range is covered by
// the other.
func FuzzRange(f *testing.F) {
	for _, seed := range [][3]string{
		{">=1.0.0 <1.2.0", "<1.2.0", "1.1.9"},
		{"<v1.4.0", "1.x", "1.0.0"},
		{"1.22.8 || >=1.25.0 <1.26.0", ">= 1.25.x", "1.25.3+5"},
		{">=5.0.0 <5.1.2 !5.1.0-alpha1", ">5.0.0-0 <=5.1.1", "5.1.0-alpha1"},
		{"< 24.7.0", "!24.x", "24.6.9-rc.1"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, one, other, version string) {
		v, err := semver.Parse(version)
		if err != nil {
			return
		}
		a, b := catalog.Entry{Name: "a", SkipRange: one}, catalog.Entry{Name: "b", SkipRange: other}
		within, err := Range(a)
		if got, want := Edge(a, "p", v), err == nil && within(v); got != want {
			t.Errorf("%q is an edge from %s: %v; Range says %v (%v)", one, v, got, want, err)
		}
		if Covers(a, b) && Edge(b, "p", v) && !Edge(a, "p", v) {
			t.Errorf("%q does not cover %q: %s", one, other, v)
		}
		p := pkg("a 1.0.0")
		p.Channels[0].Entries[0].SkipRange = one
		_, step := NewUpdates(p, View{Generation: Classic}).Step(At{Name: "q", Version: v})
		if step != Edge(p.Channels[0].Entries[0], "q", v) {
			t.Errorf("%q: Step from %s is %v", one, v, step)
		}
	})
}
