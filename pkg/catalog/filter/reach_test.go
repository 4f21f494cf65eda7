package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// randomPackage is a package p of one to three channels that OLM accepts, with or without cycles
// (wild).
func randomPackage(t *testing.T, r *rand.Rand, wild bool) *catalog.Catalog {
	t.Helper()
	versions := randomVersions(r, 12)
	var metas []*catalog.Meta
	add := func(schema, name string, object map[string]any) {
		object["schema"], object["package"], object["name"] = schema, "p", name
		m := &catalog.Meta{Schema: schema, Package: "p", Name: name}
		if schema == catalog.SchemaPackage {
			delete(object, "package")
		}
		if schema == catalog.SchemaDeprecations {
			delete(object, "name")
		}
		var err error
		if m.Raw, err = json.Marshal(object); err != nil {
			t.Fatal(err)
		}
		metas = append(metas, m)
	}
	add(catalog.SchemaPackage, "p", map[string]any{"defaultChannel": "a"})
	have := map[string]bool{}
	for _, channel := range []string{"a", "b", "c"}[:1+r.IntN(3)] {
		entries := []map[string]any{}
		for _, e := range randomChannel(r, versions, wild) {
			entries = append(entries, map[string]any{"name": e.Name, "replaces": e.Replaces, "skips": e.Skips, "skipRange": e.SkipRange})
			have[e.Name] = true
		}
		add(catalog.SchemaChannel, channel, map[string]any{"entries": entries})
	}
	var deprecated []any
	for _, name := range slices.Sorted(maps.Keys(have)) {
		add(catalog.SchemaBundle, name, map[string]any{"image": "r.example/p:1", "properties": []any{
			map[string]any{"type": "olm.package", "value": map[string]any{"packageName": "p", "version": versions[name].String()}},
		}})
		if r.IntN(8) == 0 {
			deprecated = append(deprecated, map[string]any{"reference": map[string]any{"schema": "olm.bundle", "name": name}, "message": "old"})
		}
	}
	if len(deprecated) > 0 {
		add(catalog.SchemaDeprecations, "", map[string]any{"entries": deprecated})
	}
	c, err := catalog.New(metas)
	fail.On(t, err)
	return c
}

// randomOperator makes a random selection from a package, with installed operators and
// requirements.
func randomOperator(r *rand.Rand, p *catalog.Package) (imageset.Operator, []Required) {
	bundle := func() *catalog.Bundle { return p.Bundles[r.IntN(len(p.Bundles))] }
	channel := func() *catalog.Channel { return p.Channels[r.IntN(len(p.Channels))] }
	within := func() imageset.Range {
		a, b := bundle().Version, bundle().Version
		if a.GT(b) {
			a, b = b, a
		}
		return imageset.Range{Min: a.String(), Max: b.String()}
	}
	want := imageset.Package{Name: p.Name}
	op := imageset.Operator{Catalog: "c"}
	switch r.IntN(6) {
	case 0:
		want.Channels = []imageset.Channel{{Name: channel().Name}}
	case 1:
		want.Bundles = []imageset.Bundle{{Name: bundle().Name}}
	case 2:
		want.Channels = []imageset.Channel{{Name: channel().Name, Range: within()}}
	case 3:
		op.Full = true
	case 4, 5:
		want.Range = within()
	}
	op.Packages = []imageset.Package{want}
	for range r.IntN(3) {
		b := bundle() // with its version, since filtering may remove the bundle
		in := imageset.Installed{Package: p.Name, Bundle: b.Name, Version: b.Version.String()}
		switch r.IntN(5) {
		case 0:
			in.Bundle, in.Version = "gone.v0", ""
		case 1:
			in.Bundle, in.Version = "", fmt.Sprintf("1.%d.%d", r.IntN(12), r.IntN(2))
		case 2:
			in.Bundle, in.Version = "gone.v1.3.1", "1.3.1"
		}
		if r.IntN(3) == 0 {
			in.Channel = channel().Name
		}
		op.Installed = append(op.Installed, in)
	}
	var required []Required
	for range r.IntN(2) * r.IntN(3) {
		ch := channel()
		required = append(required, Required{p.Name, ch.Name, ch.Entries[r.IntN(len(ch.Entries))].Name, "bundle q of c"})
	}
	return op, required
}

// TestFilteredRandomPackages filters random packages by random selections, installed operators and
// requirements. OLM accepts the result, edges stay unchanged, no cluster that was led to a kept
// head is stuck below it, and filtering again changes nothing.
//
// If edges form a cycle, which no real catalog has, an operator may reach the kept head only within
// the cycle. Then all of this holds except for paths that a user would have to choose by hand.
func TestFilteredRandomPackages(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for _, wild := range []bool{false, true} {
		t.Run(fmt.Sprintf("wild %v", wild), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 6))
			filtered := 0
			for round := range rounds {
				c := randomPackage(t, r, wild)
				op, required := randomOperator(r, c.Packages[0])
				if checkRandom(t, c, op, required, wild) {
					filtered++
				}
				if t.Failed() {
					t.Fatalf("round %d: %s", round, describe(c.Packages[0], op, required))
				}
			}
			if filtered < rounds/2 {
				t.Errorf("only %d of %d selections had a result", filtered, rounds)
			}
		})
	}
}

// FuzzApply is the same for packages and selections that a fuzzer generates.
//
// Slow: it filters and simulates OLM; catalog.FuzzRead reads what strangers wrote.
func FuzzApply(f *testing.F) {
	f.Add(uint64(1), uint64(2), false)
	f.Add(uint64(3), uint64(4), true)
	f.Fuzz(func(t *testing.T, one, other uint64, wild bool) {
		r := rand.New(rand.NewPCG(one, other))
		c := randomPackage(t, r, wild)
		op, required := randomOperator(r, c.Packages[0])
		if checkRandom(t, c, op, required, wild); t.Failed() {
			t.Log(describe(c.Packages[0], op, required))
		}
	})
}

func describe(p *catalog.Package, op imageset.Operator, required []Required) string {
	var b strings.Builder
	for _, ch := range p.Channels {
		fmt.Fprintf(&b, "\nchannel %s", ch.Name)
		for _, e := range ch.Entries {
			fmt.Fprintf(&b, "\n  %s version %s replaces %s skips %v skipRange %s", e.Name, p.Bundle(e.Name).Version, e.Replaces, e.Skips, e.SkipRange)
		}
	}
	for _, d := range p.Deprecations {
		fmt.Fprintf(&b, "\ndeprecated %v", d.Entries)
	}
	return b.String() + fmt.Sprintf("\nselected %+v\nfull %v\ninstalled %+v\nrequired %+v", op.Packages, op.Full, op.Installed, required)
}

// checkRandom reports whether the selection has a result.
func checkRandom(t *testing.T, c *catalog.Catalog, op imageset.Operator, required []Required, wild bool) bool {
	t.Helper()
	result, err := Apply(c, op, required...)
	if err != nil && strings.Contains(err.Error(), "set defaultChannel to") {
		_, choices, _ := strings.Cut(err.Error(), "set defaultChannel to one of ")
		op.Packages = slices.Clone(op.Packages)
		op.Packages[0].DefaultChannel, _, _ = strings.Cut(choices, ",")
		result, err = Apply(c, op, required...)
	}
	var wrong *SelectionError
	switch {
	case errors.As(err, &wrong) && (strings.Contains(err.Error(), "has no version") || strings.Contains(err.Error(), "nothing is selected") ||
		strings.Contains(err.Error(), "alone do not form a valid channel")): // an entry that replaces itself
		return false
	case err != nil:
		t.Error(err)
		return false
	}
	checkResult(t.Errorf, c.Packages[0], result)
	fail.On(t, validate.Catalog(result.Catalog))
	checkReach(t.Errorf, c.Packages[0], result, op, wild)
	for _, r := range required {
		if ch := result.Catalog.Packages[0].Channel(r.Channel); ch == nil || !slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool { return e.Name == r.Bundle }) {
			t.Errorf("%+v is not kept", r)
		}
	}
	again, err := Apply(result.Catalog, op, required...)
	if err != nil {
		t.Errorf("filtering again: %v", err)
	} else if !sameBytes(t, result.Catalog, again.Catalog) {
		t.Errorf("filtering again gives something else: %s", cmp.Diff(summary(result), summary(again)))
	}
	return true
}

// checkReach checks the update paths to the heads of the kept channels.
func checkReach(fail func(string, ...any), was *catalog.Package, result *Result, op imageset.Operator, wild bool) {
	p := result.Catalog.Packages[0]
	clusters := map[string]graph.At{}
	for _, b := range was.Bundles {
		clusters[b.Name] = graph.Running(b)
	}
	for _, ch := range was.Channels {
		for _, e := range ch.Entries {
			for _, name := range append(e.Skips, e.Replaces) { // also names that the catalog does not have
				if _, known := clusters[name]; !known && name != "" && len(clusters) < 300 {
					clusters[name] = graph.At{Name: name, Version: semver.MustParse("0.0.1")}
				}
			}
		}
	}
	for i, ch := range p.Channels {
		head := result.Packages[0].Channels[i].Head
		for _, gen := range generations {
			view := graph.View{Generation: gen, Channels: []string{ch.Name}}
			before, after := graph.NewUpdates(was, view), graph.NewUpdates(p, view)
			for _, name := range slices.Sorted(maps.Keys(clusters)) {
				at := clusters[name]
				if len(op.Packages[0].Bundles) == 0 {
					checkCluster(fail, ch, before, after, at, head, gen, wild)
				}
			}
			s := newSelection(was, op.Packages[0], false)
			s.installed(op.Installed)
			for _, from := range s.starts {
				if from.follows(ch.Name) && from.versioned && !wild {
					checkInstalled(fail, was.Channel(ch.Name), ch, before, after, from, head, gen)
				}
			}
		}
	}
}

// checkCluster checks that OLM still leads a cluster to the head automatically if its bundle, or an
// update of it, is kept and OLM did so before.
func checkCluster(fail func(string, ...any), ch *catalog.Channel, before, after *graph.Updates, at graph.At, head string, gen graph.Generation, wild bool) {
	kept := slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool { return e.Name == at.Name })
	_, leads := after.Step(at)
	if gen == graph.V1 { // a skipRange alone may lead into a trap
		leads = slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool { return e.Replaces == at.Name || slices.Contains(e.Skips, at.Name) })
	}
	if gen == graph.Classic && !leads {
		// A dropped bundle with a kept update, unless that update is skipped.
		hop, ok := before.Step(at)
		leads = ok && slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool { return e.Name == hop.To })
	}
	if _, was := before.Reachable(at, head, graph.Automatic); was && (kept || leads) {
		if _, is := after.Reachable(at, head, graph.Automatic); !is {
			fail("channel %s: %s led %s to %s automatically: %v, now %v", ch.Name, gen, at.Name, head, before.Walk(at), after.Walk(at))
		}
	}
	if _, was := before.Reachable(at, head, graph.AnyPath); was && kept && !wild {
		if _, is := after.Reachable(at, head, graph.AnyPath); !is {
			fail("channel %s: %s had a way from %s to %s", ch.Name, gen, at.Name, head)
		}
	}
}

// checkInstalled checks that an installed bundle is kept where the channel has it, and that it
// reaches the head if the original has any path: automatically in OLM classic, or in OLM v1 if it
// did before.
func checkInstalled(fail func(string, ...any), was, ch *catalog.Channel, before, after *graph.Updates, from start, head string, gen graph.Generation) {
	has := func(c *catalog.Channel) bool {
		return slices.ContainsFunc(c.Entries, func(e catalog.Entry) bool { return e.Name == from.at.Name })
	}
	if has(was) && !has(ch) {
		fail("channel %s: %s is installed and not kept", ch.Name, from.label)
	}
	_, auto := before.Reachable(from.at, head, graph.Automatic)
	_, anyhow := before.Reachable(from.at, head, graph.AnyPath)
	hops, is := after.Reachable(from.at, head, graph.Automatic)
	if (auto || anyhow && gen == graph.Classic) && !is {
		fail("channel %s: %s led the installed %s to %s automatically: %v, now %v", ch.Name, gen, from.label, head, before.Walk(from.at), hops)
	}
	if _, is := after.Reachable(from.at, head, graph.AnyPath); anyhow && !is {
		fail("channel %s: %s had a way from the installed %s to %s", ch.Name, gen, from.label, head)
	}
}
