package diff_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/diff"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// object is an object of a catalog before it is written.
type object map[string]any

// random returns a small catalog of few names, so that two of them have much in common. Any part
// may be missing, invalid or duplicate.
func random(r *rand.Rand) []object {
	pick := func(n int) int { return r.IntN(n) }
	var all []object
	for p := range 1 + pick(3) {
		pkg := fmt.Sprint("p", p)
		if pick(8) > 0 {
			o := object{"schema": "olm.package", "name": pkg, "defaultChannel": fmt.Sprint("c", pick(2))}
			if pick(2) == 0 {
				o["description"] = fmt.Sprint(pick(2))
			}
			all = append(all, o)
		}
		bundle := func(i int) string { return fmt.Sprint(pkg, ".v", i) }
		for i := range 6 {
			for range []int{0, 1, 1, 1, 1, 2}[pick(6)] {
				version := fmt.Sprintf("1.%d.0", i+pick(20)/19)
				if pick(20) == 0 {
					version = "wrong"
				}
				properties := []object{
					{"type": "olm.package", "value": object{"packageName": pkg, "version": version}},
					{"type": "olm.gvk", "value": object{"kind": fmt.Sprint(pick(2))}},
				}
				r.Shuffle(2, func(i, j int) { properties[i], properties[j] = properties[j], properties[i] })
				all = append(all, object{
					"schema": "olm.bundle", "package": pkg, "name": bundle(i), "image": fmt.Sprint("i", pick(10)/9), "properties": properties,
					"relatedImages": []object{{"name": "", "image": fmt.Sprint(pick(2))}, {"name": "n", "image": fmt.Sprint(pick(2))}},
				})
			}
		}
		for c := range pick(3) {
			var entries []object
			for i := range 6 {
				if pick(4) == 0 {
					continue
				}
				e := object{"name": bundle(i)}
				if pick(3) > 0 {
					e["replaces"] = bundle(pick(7))
				}
				if pick(3) == 0 {
					e["skips"] = []string{bundle(pick(7)), bundle(pick(7))}
				}
				if pick(3) == 0 {
					e["skipRange"] = []string{"<1.3.0", ">=1.1.0 <1.5.0", "wrong", ""}[pick(4)]
				}
				entries = append(entries, e)
			}
			all = append(all, object{"schema": "olm.channel", "package": pkg, "name": fmt.Sprint("c", c), "entries": entries})
		}
		if pick(2) == 0 {
			all = append(all, object{"schema": "olm.deprecations", "package": pkg, "entries": []object{
				{"reference": object{"schema": "olm.bundle", "name": bundle(pick(3))}, "message": fmt.Sprint(pick(2))},
			}})
		}
		for range pick(2) {
			all = append(all, object{"schema": fmt.Sprint("s", pick(2)), "package": pkg, "x": pick(2)})
		}
	}
	return append(all, object{"schema": "global", "x": pick(2)})
}

// build returns a catalog of objects, in the order given.
func build(t testing.TB, objects []object) *catalog.Catalog {
	t.Helper()
	metas := make([]*catalog.Meta, len(objects))
	for i, o := range objects {
		raw, err := json.Marshal(o)
		fail.On(t, err)
		m := &catalog.Meta{Raw: raw}
		m.Schema, _ = o["schema"].(string)
		m.Package, _ = o["package"].(string)
		m.Name, _ = o["name"].(string)
		if m.Schema == catalog.SchemaPackage {
			m.Package = m.Name
		}
		metas[i] = m
	}
	c, err := catalog.New(metas)
	fail.On(t, err)
	return c
}

// rewritten returns the same catalog with other white space and reversed lists, so that no object
// has the same text.
func rewritten(t testing.TB, c *catalog.Catalog) *catalog.Catalog {
	t.Helper()
	files, err := catalog.Files(c)
	fail.On(t, err)
	var metas []*catalog.Meta
	for _, f := range files {
		for _, m := range f.Metas {
			copied := *m
			var members map[string]json.RawMessage
			fail.On(t, json.Unmarshal(m.Raw, &members))
			for name, value := range members {
				var list []json.RawMessage
				if json.Unmarshal(value, &list) != nil {
					continue
				}
				slices.Reverse(list)
				if members[name], err = json.Marshal(list); err != nil {
					t.Fatal(err)
				}
			}
			if copied.Raw, err = json.MarshalIndent(members, "", "\t"); err != nil {
				t.Fatal(err)
			}
			metas = append(metas, &copied)
		}
	}
	same, err := catalog.New(metas)
	fail.On(t, err)
	return same
}

// flipped returns a Diff with old and new exchanged.
func flipped(d *diff.Diff) *diff.Diff {
	change := func(c *diff.Change) {
		switch *c {
		case diff.Added:
			*c = diff.Removed
		case diff.Removed:
			*c = diff.Added
		}
	}
	text := func(t *diff.Text) {
		if t != nil {
			t.Old, t.New = t.New, t.Old
		}
	}
	for i := range d.Packages {
		change(&d.Packages[i].Change)
		text(d.Packages[i].DefaultChannel)
	}
	for i := range d.Channels {
		c := &d.Channels[i]
		change(&c.Change)
		text(c.Head)
		c.EntriesAdded, c.EntriesRemoved = c.EntriesRemoved, c.EntriesAdded
	}
	for i := range d.Bundles {
		b := &d.Bundles[i]
		change(&b.Change)
		text(b.Version)
		text(b.Image)
		for i := range b.RelatedImages {
			change(&b.RelatedImages[i].Change)
		}
		for i := range b.Properties {
			p := &b.Properties[i]
			p.Added, p.Removed = p.Removed, p.Added
		}
	}
	for i := range d.Edges {
		change(&d.Edges[i].Change)
	}
	for i := range d.Deprecations {
		change(&d.Deprecations[i].Change)
		text(&d.Deprecations[i].Message)
	}
	for i := range d.Others {
		change(&d.Others[i].Change)
	}
	return d
}

func TestProperties(t *testing.T) {
	t.Parallel()
	differ, seeds := 0, 300
	if testing.Short() {
		seeds = 60
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 1))
		objects := random(r)
		a := build(t, objects)

		if d := diff.Compare(a, a); !d.Empty() {
			t.Fatalf("seed %d: differs from itself: %+v", seed, d)
		}
		if d := diff.Compare(a, rewritten(t, a)); !d.Empty() {
			t.Fatalf("seed %d: differs from itself rewritten: %+v", seed, d)
		}

		// The channels of one catalog with the bundles of the other: edges that only change by
		// versions.
		other := random(r)
		isBundle := func(o object) bool { return o["schema"] == "olm.bundle" }
		mixed := slices.DeleteFunc(slices.Clone(objects), isBundle)
		for _, o := range other {
			if isBundle(o) {
				mixed = append(mixed, o)
			}
		}
		for _, b := range []*catalog.Catalog{build(t, other), build(t, mixed)} {
			there, back := diff.Compare(a, b), diff.Compare(b, a)
			if !there.Empty() {
				differ++
			}
			if d := cmp.Diff(edgesOf(a, b), there.Edges); d != "" {
				t.Fatalf("seed %d: edges (-want +got):\n%s", seed, d)
			}
			if d := cmp.Diff(there, flipped(back)); d != "" {
				t.Fatalf("seed %d: Compare(a, b) is not the inverse of Compare(b, a):\n%s", seed, d)
			}
		}

		// A change of any single member of an object is found.
		i := r.IntN(len(objects))
		altered := slices.Clone(objects)
		altered[i] = object{"unheard-of": 1}
		maps.Copy(altered[i], objects[i])
		if diff.Compare(a, build(t, altered)).Empty() {
			t.Fatalf("seed %d: a new member of %v was not reported", seed, objects[i])
		}
	}
	if differ < seeds*9/5 {
		t.Errorf("only %d of %d pairs differ", differ, 2*seeds)
	}
}

// edgesOf lists the differing edges by definition, without any shortcut.
func edgesOf(a, b *catalog.Catalog) []diff.Edge {
	list := []diff.Edge{}
	for _, pa := range a.Packages {
		pb := b.Package(pa.Name)
		if pb == nil {
			continue
		}
		seen := map[string]int{}
		for _, ca := range pa.Channels {
			var cb *catalog.Channel
			n := 0
			for _, c := range pb.Channels {
				if c.Name == ca.Name {
					if n == seen[ca.Name] {
						cb = c
					}
					n++
				}
			}
			if seen[ca.Name]++; cb == nil {
				continue
			}
			var from, to []string
			for _, e := range append(slices.Clone(ca.Entries), cb.Entries...) {
				to = append(to, e.Name)
				from = append(append(append(from, e.Name), e.Skips...), e.Replaces)
			}
			entries := compact(slices.Clone(to))
			for _, to := range entries {
				for _, from := range compact(from) {
					was, is := edge(ca, from, to, pa, pb), edge(cb, from, to, pb, pa)
					if !slices.Contains(entries, from) && (was == "" || was == diff.BySkipRange) && (is == "" || is == diff.BySkipRange) {
						continue // elsewhere in the package
					}
					e := diff.Edge{Package: pa.Name, Channel: ca.Name, From: from, To: to}
					switch {
					case was == "" && is != "":
						e.Change, e.By = diff.Added, is
					case was != "" && is == "":
						e.Change, e.By = diff.Removed, was
					default:
						continue
					}
					list = append(list, e)
				}
			}
		}
	}
	return list
}

func compact(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// edge returns the member by which a channel offers one bundle to a cluster that runs another, or
// "".
func edge(c *catalog.Channel, from, to string, here, there *catalog.Package) diff.By {
	if from == to || from == "" {
		return ""
	}
	i := slices.IndexFunc(c.Entries, func(e catalog.Entry) bool { return e.Name == to })
	if i < 0 {
		return ""
	}
	e := c.Entries[i]
	switch {
	case e.Replaces == from:
		return diff.ByReplaces
	case slices.Contains(e.Skips, from):
		return diff.BySkips
	}
	for _, p := range []*catalog.Package{here, there} {
		for _, b := range p.Bundles {
			if b.Name == from && b.VersionErr == nil {
				if graph.Edge(e, from, b.Version) {
					return diff.BySkipRange
				}
				return ""
			}
		}
	}
	return ""
}

// A channel of n entries with skipRange has n² edges; a Diff lists a limited number.
func TestEdgesAreBounded(t *testing.T) {
	t.Parallel()
	entries := func(withRange bool) *catalog.Catalog {
		p := &catalog.Package{Name: "p"}
		c := &catalog.Channel{Package: "p", Name: "c", Meta: &catalog.Meta{Raw: fmt.Appendf(nil, `{"x": %t}`, withRange)}}
		for i := range 500 {
			e := catalog.Entry{Name: fmt.Sprint(i)}
			if withRange {
				e.SkipRange = "<=500.0.0"
			}
			c.Entries = append(c.Entries, e)
			p.Bundles = append(p.Bundles, &catalog.Bundle{Package: "p", Name: e.Name, Version: semver.Version{Major: uint64(i)}, Meta: &catalog.Meta{}})
		}
		p.Channels = []*catalog.Channel{c}
		return &catalog.Catalog{Packages: []*catalog.Package{p}}
	}
	there, back := diff.Compare(entries(false), entries(true)), diff.Compare(entries(true), entries(false))
	if len(there.Edges) != 100_000 || there.EdgesOmitted != 500*499-100_000 {
		t.Errorf("got %d edges and %d omitted", len(there.Edges), there.EdgesOmitted)
	}
	if !slices.Equal(there.Edges, flipped(back).Edges) {
		t.Error("not the inverse")
	}
}
