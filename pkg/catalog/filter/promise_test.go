package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// read reads a catalog in a folder.
func read(t testing.TB, dir string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), os.DirFS(dir), catalog.Options{})
	fail.On(t, err)
	return c
}

// TestPromises checks the guaranteed properties for every selection of every package of the test
// catalogs, and of the real catalogs if they are present.
func TestPromises(t *testing.T) {
	for _, dir := range []string{"testdata/catalog", "../../../../shared/catalogs"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if _, err := os.Stat(dir); err != nil {
				t.Skip("not present: ", dir)
			}
			if testing.Short() && filepath.Base(dir) == "catalogs" {
				t.Skip("reads real data")
			}
			c := read(t, dir)
			for _, p := range c.Packages {
				t.Run(p.Name, func(t *testing.T) {
					t.Parallel()
					ways, judged := selections(p), map[string]bool{}
					for _, name := range slices.Sorted(maps.Keys(ways)) {
						promise(t, c, p, name, ways[name], judged)
					}
				})
			}
		})
	}
}

// selections returns selections from a package, by name.
func selections(p *catalog.Package) map[string]imageset.Operator {
	ways := map[string]imageset.Operator{}
	way := func(name string, full bool, want imageset.Package) {
		want.Name = p.Name
		ways[name] = imageset.Operator{Catalog: "c", Full: full, Packages: []imageset.Package{want}}
	}
	way("heads", false, imageset.Package{})
	way("full", true, imageset.Package{})
	all := some(p.Bundles)
	ranges := func(versions []string, do func(name string, r imageset.Range)) {
		for i, min := range versions {
			do(">="+min, imageset.Range{Min: min})
			do("<="+min, imageset.Range{Max: min})
			for _, max := range versions[i:] {
				do(min+"-"+max, imageset.Range{Min: min, Max: max})
			}
		}
	}
	ranges(all, func(name string, r imageset.Range) { way("package "+name, false, imageset.Package{Range: r}) })
	for _, ch := range p.Channels {
		named := []imageset.Channel{{Name: ch.Name}}
		way("channel "+ch.Name, false, imageset.Package{Channels: named})
		way("full channel "+ch.Name, true, imageset.Package{Channels: named})
		own := slices.DeleteFunc(slices.Clone(p.Bundles), func(b *catalog.Bundle) bool {
			return !slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool { return e.Name == b.Name })
		})
		ranges(middle(some(own)), func(name string, r imageset.Range) {
			way("channel "+ch.Name+" "+name, false, imageset.Package{Channels: []imageset.Channel{{Name: ch.Name, Range: r}}})
		})
	}
	for i, b := range p.Bundles {
		if i%(1+len(p.Bundles)/12) != 0 {
			continue
		}
		running := []imageset.Installed{{Package: p.Name, Bundle: b.Name, Version: b.Version.String()}}
		way("heads from "+b.Name, false, imageset.Package{})
		way("range from "+b.Name, false, imageset.Package{Range: imageset.Range{Min: all[len(all)/2]}})
		for _, name := range []string{"heads from " + b.Name, "range from " + b.Name} {
			op := ways[name]
			op.Installed = running
			ways[name] = op
		}
		pin := []imageset.Bundle{{Name: b.Name}}
		way("pin "+b.Name, false, imageset.Package{Bundles: pin})
		pin = append(pin, imageset.Bundle{Name: p.Bundles[i/2].Name}, imageset.Bundle{Name: p.Bundles[i/3].Name})
		way("pins "+b.Name, false, imageset.Package{Bundles: pin})
	}
	return ways
}

// some returns up to four versions of the bundles, spread from lowest to highest.
func some(bundles []*catalog.Bundle) []string {
	var all []semver.Version
	for _, b := range bundles {
		if b.VersionErr == nil {
			all = append(all, b.Version)
		}
	}
	slices.SortFunc(all, semver.Version.Compare)
	all = slices.CompactFunc(all, semver.Version.EQ)
	var picked []string
	for i := range 4 {
		picked = append(picked, all[i*(len(all)-1)/3].String())
	}
	return slices.Compact(picked)
}

// middle returns the version in the middle.
func middle(versions []string) []string { return versions[len(versions)/2:][:1] }

// promise applies one selection. If it requires a default channel, each channel is tried. judged
// has the results that already passed the validator.
func promise(t *testing.T, c *catalog.Catalog, p *catalog.Package, name string, op imageset.Operator, judged map[string]bool) {
	t.Helper()
	result, err := Apply(c, op)
	var wrong *SelectionError
	for i := 0; errors.As(err, &wrong) && strings.Contains(err.Error(), "set defaultChannel to"); i++ {
		if i == len(p.Channels) {
			t.Errorf("%s: no default channel works: %v", name, err)
			return
		}
		op.Packages[0].DefaultChannel = p.Channels[i].Name
		if result, err = Apply(c, op); err != nil && strings.Contains(err.Error(), "is not among the channels that are kept") {
			err = &SelectionError{Problems: []Problem{{Message: "set defaultChannel to"}}}
		}
	}
	want := op.Packages[0]
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "has no version") && expectNone(p, want):
		return
	case strings.Contains(err.Error(), "; also pin ") && len(want.Bundles) > 1:
		return
	default:
		t.Errorf("%s: %v", name, err)
		return
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s", name, fmt.Sprintf(format, args...))
	}
	checkResult(fail, p, result)
	kept := fmt.Sprint(result.Catalog.Packages[0].DefaultChannel)
	for _, ch := range result.Catalog.Packages[0].Channels {
		kept += fmt.Sprint("\n", ch.Name, ch.Entries)
	}
	if !judged[kept] {
		judged[kept] = true
		if err := validate.Catalog(result.Catalog); err != nil {
			fail("%v", err)
		}
	}
	if kept += fmt.Sprint(op.Installed); !judged[kept] {
		judged[kept] = true
		checkReach(fail, p, result, op, false)
		if once, err := Apply(result.Catalog, op); err != nil || !sameBytes(t, result.Catalog, once.Catalog) {
			fail("filtering what was filtered gives something else (%v)", err)
		}
	}
	checkSelection(fail, p, op, result)
	again, err := Apply(c, op)
	if err != nil || !sameBytes(t, result.Catalog, again.Catalog) {
		fail("another run gives other bytes (%v)", err)
		return
	}
	if !reflect.DeepEqual(result.Packages, again.Packages) || !slices.Equal(result.Notes, again.Notes) {
		fail("another run gives another account: %s", cmp.Diff(summary(result), summary(again)))
	}
}

// expectNone reports whether no version of the package, or of its named channel, is in the selected
// range.
func expectNone(p *catalog.Package, want imageset.Package) bool {
	r := want.Range
	for _, named := range want.Channels {
		r = named.Range
	}
	within, err := newSpan(r)
	return err == nil && !slices.ContainsFunc(p.Bundles, func(b *catalog.Bundle) bool {
		in := len(want.Channels) == 0
		for _, named := range want.Channels {
			in = in || slices.ContainsFunc(p.Channel(named.Name).Entries, func(e catalog.Entry) bool { return e.Name == b.Name })
		}
		return in && within.has(b.Version)
	})
}

// sameBytes reports whether two catalogs are written identically.
func sameBytes(t *testing.T, a, b *catalog.Catalog) bool {
	t.Helper()
	one, err := catalog.Files(a)
	fail.On(t, err)
	other, err := catalog.Files(b)
	fail.On(t, err)
	return slices.EqualFunc(one, other, func(a, b catalog.File) bool {
		return a.Path == b.Path && slices.EqualFunc(a.Metas, b.Metas, func(a, b *catalog.Meta) bool {
			return a == b || bytes.Equal(a.Raw, b.Raw)
		})
	})
}

// checkSelection checks that everything selected is kept, and that the rest has the reason
// Continuity or, for installed operators, Installed.
func checkSelection(fail func(string, ...any), p *catalog.Package, op imageset.Operator, result *Result) {
	want := op.Packages[0]
	for _, ch := range result.Packages[0].Channels {
		within := want.Range
		for _, named := range want.Channels {
			if named.Name == ch.Name && within.IsZero() {
				within = named.Range
			}
		}
		of, err := newSpan(within)
		if err != nil {
			fail("%v", err)
		}
		reasons := map[string]Reason{}
		for _, e := range ch.Entries {
			reasons[e.Name] = e.Reason
		}
		for _, e := range p.Channel(ch.Name).Entries {
			var reason Reason
			switch {
			case len(want.Bundles) > 0:
				if slices.ContainsFunc(want.Bundles, func(b imageset.Bundle) bool { return b.Name == e.Name }) {
					reason = Pinned
				}
			case !within.IsZero():
				if of.has(p.Bundle(e.Name).Version) {
					reason = Range
				} else if reasons[e.Name] == Continuity {
					reason = Continuity
				}
			case op.Full:
				reason = Full
			case ch.OriginalHead == e.Name:
				reason = Head
			}
			if extra := reasons[e.Name]; (extra == Installed || extra == Continuity) && len(op.Installed) > 0 && (reason == "" || reason == Continuity) {
				continue
			}
			if reasons[e.Name] != reason {
				fail("channel %s: %s is kept for %q, not %q", ch.Name, e.Name, reasons[e.Name], reason)
			}
		}
	}
}

// checkResult checks the guaranteed properties of every result for one package.
func checkResult(fail func(string, ...any), was *catalog.Package, result *Result) {
	if len(result.Catalog.Packages) != 1 || len(result.Packages) != 1 {
		fail("%d packages, %d accounts", len(result.Catalog.Packages), len(result.Packages))
		return
	}
	p, account := result.Catalog.Packages[0], result.Packages[0]
	if p.Channel(p.DefaultChannel) == nil || account.DefaultChannel != p.DefaultChannel {
		fail("the default channel %q (%q) is not kept", p.DefaultChannel, account.DefaultChannel)
	}
	sameBut(fail, was.Metas[0], p.Metas[0], "defaultChannel")
	versions := map[string]semver.Version{}
	for _, b := range was.Bundles {
		versions[b.Name] = b.Version
	}
	kept := map[string]bool{}
	for i, ch := range p.Channels {
		checkChannel(fail, was.Channel(ch.Name), ch, account.Channels[i], versions)
		for _, e := range ch.Entries {
			kept[e.Name] = true
		}
	}
	bundles := elements.Filter(was.Bundles, func(b *catalog.Bundle) bool { return kept[b.Name] })
	if !slices.Equal(bundles, p.Bundles) {
		fail("the bundles are not those of the kept entries, or not the same objects")
	}
	for i, b := range account.Bundles {
		if b.Name != p.Bundles[i].Name || b.Reason == "" {
			fail("bundle %s: account %+v", p.Bundles[i].Name, b)
		}
	}
	if !slices.Equal(was.Others, p.Others) {
		fail("objects of other schemas were lost")
	}
	checkDeprecations(fail, was, p, kept)
}

func checkChannel(fail func(string, ...any), was, ch *catalog.Channel, account Channel, versions map[string]semver.Version) {
	shape := graph.Inspect(ch.Entries)
	if !shape.Valid() {
		fail("channel %s is not whole: %+v", ch.Name, shape)
		return
	}
	if shape.Heads[0] != account.Head || account.OriginalHead != graph.Inspect(was.Entries).Heads[0] {
		fail("channel %s has head %s: %+v", ch.Name, shape.Heads[0], account)
	}
	for i, e := range ch.Entries {
		got := account.Entries[i]
		if got.Name != e.Name || got.Reason == "" || (got.For != "") != slices.Contains([]Reason{Continuity, Installed, Dependency}, got.Reason) {
			fail("channel %s: %s has the summary %+v", ch.Name, e.Name, got)
		}
	}
	sameBut(fail, was.Meta, ch.Meta, "entries")
	if ch == was {
		return
	}
	texts, after := entriesOf(fail, was.Meta), entriesOf(fail, ch.Meta)
	for i, e := range ch.Entries {
		at := slices.IndexFunc(was.Entries, func(w catalog.Entry) bool { return w.Name == e.Name })
		before := was.Entries[at]
		had := min(len(before.Skips), len(e.Skips))
		if had == len(e.Skips) && !bytes.Equal(texts[at], after[i]) {
			fail("channel %s: the bytes of %s changed", ch.Name, e.Name)
		}
		if e.Replaces != before.Replaces || e.SkipRange != before.SkipRange || !slices.Equal(e.Skips[:had], before.Skips) {
			fail("channel %s: the edges into %s were %+v", ch.Name, e.Name, before)
		}
		for _, name := range e.Skips[had:] {
			if !graph.Edge(before, name, versions[name]) {
				fail("channel %s: there was no edge from %s to %s", ch.Name, name, e.Name)
			}
		}
		var decoded struct {
			Name, Replaces, SkipRange string
			Skips                     []string
		}
		if err := json.Unmarshal(after[i], &decoded); err != nil ||
			decoded.Name != e.Name || decoded.Replaces != e.Replaces || !slices.Equal(decoded.Skips, e.Skips) || decoded.SkipRange != e.SkipRange {
			fail("channel %s: %s is written otherwise: %s (%v)", ch.Name, e.Name, after[i], err)
		}
	}
}

func checkDeprecations(fail func(string, ...any), was, p *catalog.Package, kept map[string]bool) {
	want := map[string]bool{}
	for _, d := range was.Deprecations {
		for _, e := range d.Entries {
			if e.Schema == catalog.SchemaPackage || e.Schema == catalog.SchemaBundle && kept[e.Name] ||
				e.Schema == catalog.SchemaChannel && p.Channel(e.Name) != nil {
				want[e.Schema+" "+e.Name+" "+e.Message] = true
			}
		}
	}
	got := map[string]bool{}
	for _, d := range p.Deprecations {
		sameBut(fail, was.Deprecations[0].Meta, d.Meta, "entries")
		for i, raw := range entriesOf(fail, d.Meta) {
			got[d.Entries[i].Schema+" "+d.Entries[i].Name+" "+d.Entries[i].Message] = true
			if !bytes.Contains(was.Deprecations[0].Meta.Raw, raw) {
				fail("the bytes of a deprecation changed: %s", raw)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		fail("deprecations: %s", diff)
	}
}
