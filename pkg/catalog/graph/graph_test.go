package graph

import (
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestInspect(t *testing.T) {
	type entries = []catalog.Entry
	for _, tc := range []struct {
		name    string
		entries entries
		want    Shape
	}{
		{"nothing", nil, Shape{}},
		{"one", entries{{Name: "a"}}, Shape{Heads: []string{"a"}, Chain: []string{"a"}}},
		{
			"chain in any order",
			entries{{Name: "b", Replaces: "a"}, {Name: "a"}, {Name: "c", Replaces: "b"}},
			Shape{Heads: []string{"c"}, Chain: []string{"c", "b", "a"}},
		},
		{
			"replaces and skips that do not exist",
			entries{{Name: "b", Replaces: "a", Skips: []string{"x"}}, {Name: "a", Replaces: "gone"}},
			Shape{Heads: []string{"b"}, Chain: []string{"b", "a"}},
		},
		{
			"the head skips all",
			entries{{Name: "c", Skips: []string{"a", "b"}}, {Name: "b", Replaces: "a"}, {Name: "a"}},
			Shape{Heads: []string{"c"}, Chain: []string{"c"}, Skipped: map[string]bool{"a": true, "b": true}},
		},
		{
			"the chain ends at a skipped entry, the rest is stranded",
			entries{{Name: "c", Replaces: "b", Skips: []string{"b"}}, {Name: "b", Replaces: "a"}, {Name: "a"}},
			Shape{Heads: []string{"c"}, Chain: []string{"c"}, Skipped: map[string]bool{"b": true}, Stranded: []string{"a"}},
		},
		{
			"a fork, closed by a skip of an entry off the chain",
			entries{{Name: "d", Replaces: "b", Skips: []string{"c"}}, {Name: "c", Replaces: "a", Skips: []string{"x", "a"}}, {Name: "b"}, {Name: "a"}},
			Shape{Heads: []string{"d"}, Chain: []string{"d", "b"}, Skipped: map[string]bool{"c": true, "a": true}},
		},
		{
			"two heads",
			entries{{Name: "c", Replaces: "a"}, {Name: "b", Replaces: "a"}, {Name: "a"}},
			Shape{Heads: []string{"b", "c"}},
		},
		{"no head", entries{{Name: "b", Replaces: "a"}, {Name: "a", Replaces: "b"}}, Shape{}},
		{"itself", entries{{Name: "a", Replaces: "a"}}, Shape{}},
		{
			"a cycle below the head",
			entries{{Name: "c", Replaces: "b"}, {Name: "b", Replaces: "a"}, {Name: "a", Replaces: "b"}},
			Shape{Heads: []string{"c"}, Chain: []string{"c", "b", "a"}, Cycle: []string{"b", "a", "b"}},
		},
		{
			"stranded below a cycle that is off the chain",
			entries{{Name: "c"}, {Name: "b", Replaces: "a"}, {Name: "a", Replaces: "b"}},
			Shape{Heads: []string{"c"}, Chain: []string{"c"}, Stranded: []string{"a", "b"}},
		},
		{
			"the same name twice",
			entries{{Name: "b", Replaces: "a"}, {Name: "b"}, {Name: "a"}},
			Shape{Heads: []string{"b"}, Chain: []string{"b", "a"}},
		},
		{
			"an empty skip has no effect",
			entries{{Name: "b", Replaces: "a", Skips: []string{""}}, {Name: "a"}},
			Shape{Heads: []string{"b"}, Chain: []string{"b", "a"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Inspect(tc.entries)
			fail.Diff(t, tc.want, got, cmpopts.EquateEmpty())
			whole := len(tc.want.Heads) == 1 && len(tc.want.Cycle)+len(tc.want.Stranded) == 0
			fail.Diff(t, whole, got.Valid())
		})
	}
}

func TestEdge(t *testing.T) {
	for _, tc := range []struct {
		entry         catalog.Entry
		name, version string
		want          bool
	}{
		{catalog.Entry{Replaces: "p.v1.0.0"}, "p.v1.0.0", "1.0.0", true},
		{catalog.Entry{Replaces: "p.v1.0.0"}, "p.v1.0.1", "1.0.1", false},
		{catalog.Entry{Skips: []string{"x", "p.v1.0.0"}}, "p.v1.0.0", "1.0.0", true},
		{catalog.Entry{SkipRange: ">=1.0.0 <1.2.0"}, "p", "1.1.9", true},
		{catalog.Entry{SkipRange: ">=1.0.0 <1.2.0"}, "p", "1.2.0", false},
		{catalog.Entry{SkipRange: ">=1.0.0 <1.2.0"}, "p", "1.2.0-rc1", true},
		{catalog.Entry{SkipRange: "<=1.0.0"}, "p", "1.0.0+5", true},
		{catalog.Entry{SkipRange: "1.22.8 || >=1.25.0 <1.26.0"}, "p", "1.25.3", true},
		{catalog.Entry{SkipRange: "<v1.4.0"}, "p", "1.0.0", false},
		{catalog.Entry{SkipRange: "<v1.4.0", Replaces: "p"}, "p", "1.0.0", true},
		{catalog.Entry{}, "", "0.0.0", false},
	} {
		fail.Diff(t, tc.want, Edge(tc.entry, tc.name, semver.MustParse(tc.version)))
	}
}
