package upgrade_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A cluster walks without the code that is tested: it knows the entries and the versions alone.
type walker struct {
	p        *catalog.Package
	versions map[string]semver.Version
	old      map[string]bool // deprecated bundles
}

func newWalker(p *catalog.Package, versions map[string]semver.Version) walker {
	w := walker{p: p, versions: versions, old: map[string]bool{}}
	for _, d := range p.Deprecations {
		for _, e := range d.Entries {
			w.old[e.Name] = e.Schema == catalog.SchemaBundle
		}
	}
	return w
}

func (w walker) updates(e catalog.Entry, from string) bool {
	if from == e.Replaces || slices.Contains(e.Skips, from) {
		return true
	}
	in, err := semver.ParseRange(e.SkipRange)
	return e.SkipRange != "" && err == nil && in(w.versions[from])
}

// classic reports whether OLM classic comes from a bundle to the head of a channel.
func (w walker) classic(channel, from string) bool {
	ch := w.p.Channel(channel)
	if ch == nil {
		return false
	}
	named, skipped, at := map[string]bool{}, map[string]bool{}, map[string]catalog.Entry{}
	for _, e := range ch.Entries {
		named[e.Replaces] = true
		for _, s := range e.Skips {
			named[s], skipped[s] = true, true
		}
		at[e.Name] = e
	}
	head := ""
	for name := range at {
		if !named[name] {
			if head != "" {
				return false
			}
			head = name
		}
	}
	var chain []catalog.Entry
	for name := head; at[name].Name != "" && len(chain) <= len(ch.Entries); name = at[name].Replaces {
		chain = append(chain, at[name])
	}
	for range len(ch.Entries) + 1 {
		if from == head {
			return true
		}
		next := slices.IndexFunc(chain, func(e catalog.Entry) bool { return !skipped[e.Name] && w.updates(e, from) })
		if next < 0 {
			break
		}
		from = chain[next].Name
	}
	return from == head || w.versions[from].GTE(w.versions[head])
}

// v1 reports whether OLM v1 comes from a bundle to a version that is not below the one of a new installation.
func (w walker) v1(channel, from string) bool {
	better := func(a, b string) bool { // a is preferred to b
		if w.old[a] != w.old[b] {
			return w.old[b]
		}
		return w.versions[a].GT(w.versions[b])
	}
	head := ""
	var all []catalog.Entry
	for _, ch := range w.p.Channels {
		if channel != "" && ch.Name != channel {
			continue
		}
		for _, e := range ch.Entries {
			if all = append(all, e); head == "" || better(e.Name, head) {
				head = e.Name
			}
		}
	}
	if head == "" {
		return false
	}
	for range len(all) + 1 {
		next := ""
		for _, e := range all {
			if w.updates(e, from) && (next == "" || better(e.Name, next)) {
				next = e.Name
			}
		}
		if next == "" || slices.ContainsFunc(all, func(e catalog.Entry) bool { return e.Name == from }) && !better(next, from) {
			break
		}
		from = next
	}
	return w.versions[from].GTE(w.versions[head])
}

// listedIn returns the bundles that are listed, by generation, channel and name.
func listedIn(all []upgrade.StrandedBundles) map[string]bool {
	listed := map[string]bool{}
	for _, s := range all {
		for _, b := range s.Bundles {
			for _, g := range s.Generations {
				listed[fmt.Sprint(g, s.Channel, b)] = true
			}
		}
	}
	return listed
}

// Every bundle that Replace does not list reaches the head, according to another implementation of both walks, if
// it reached the head before.
func TestReplaceListsAllStranded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads real data")
	}
	folders, err := filepath.Glob("../../../../shared/catalogs/*/catalog.*")
	if err != nil || len(folders) == 0 {
		t.Skip("there is no ../shared/catalogs beside the checkout")
	}
	stranded, safe := 0, 0
	for _, f := range folders {
		c, err := catalog.Read(t.Context(), os.DirFS(filepath.Dir(f)), catalog.Options{})
		fail.On(t, err)
		p := c.Packages[0]
		versions := map[string]semver.Version{}
		for _, b := range p.Bundles {
			versions[b.Name] = b.Version
		}
		for seed := range uint64(4) {
			random := rand.New(rand.NewPCG(seed, 7))
			q := reduced(p, random, 1+int(seed)*2)
			before, after := p, q
			if seed == 3 { // both are parts
				before = reduced(p, random, 3)
			}
			r := upgrade.Replace(&catalog.Catalog{Packages: []*catalog.Package{before}}, upgrade.Catalog{Name: "c", Kept: &catalog.Catalog{Packages: []*catalog.Package{after}}, Source: c})
			listed := listedIn(r.Stranded)
			was, is := newWalker(before, versions), newWalker(after, versions)
			for _, ch := range before.Channels {
				for _, e := range ch.Entries {
					if _, ok := versions[e.Name]; !ok {
						continue
					}
					for _, g := range []string{"OLM classic", "OLM v1"} {
						old, now := was.classic(ch.Name, e.Name), is.classic(ch.Name, e.Name)
						if g == "OLM v1" {
							old, now = was.v1(ch.Name, e.Name), is.v1(ch.Name, e.Name)
						}
						key := fmt.Sprint(g, ch.Name, e.Name)
						switch {
						case old && !now && !listed[key]:
							t.Errorf("%s seed %d: %s from %s in channel %s does not reach the head, and is not listed", p.Name, seed, g, e.Name, ch.Name)
						case now && listed[key]:
							t.Errorf("%s seed %d: %s from %s in channel %s reaches the head, and is listed", p.Name, seed, g, e.Name, ch.Name)
						case listed[key]:
							stranded++
						default:
							safe++
						}
					}
					if was.v1("", e.Name) && !is.v1("", e.Name) && !listed[fmt.Sprint("OLM v1", e.Name)] && !listed[fmt.Sprint("OLM v1", ch.Name, e.Name)] && !anyChannel(listed, before, e.Name) {
						t.Errorf("%s seed %d: OLM v1 from %s in any channel does not reach the head, and is not listed", p.Name, seed, e.Name)
					}
				}
			}
		}
	}
	if stranded < 100 || safe < 100 {
		t.Errorf("%d bundles are stranded, %d are not", stranded, safe)
	}
}

// anyChannel reports whether a bundle is listed for OLM v1 in a channel.
func anyChannel(listed map[string]bool, p *catalog.Package, bundle string) bool {
	return slices.ContainsFunc(p.Channels, func(ch *catalog.Channel) bool { return listed[fmt.Sprint("OLM v1", ch.Name, bundle)] })
}

// reduced returns a package without some bundles and their entries.
func reduced(p *catalog.Package, random *rand.Rand, n int) *catalog.Package {
	q := *p
	gone := map[string]bool{}
	for range min(n, len(p.Bundles)-1) {
		gone[p.Bundles[random.IntN(len(p.Bundles))].Name] = true
	}
	q.Bundles = slices.DeleteFunc(slices.Clone(p.Bundles), func(b *catalog.Bundle) bool { return gone[b.Name] })
	q.Channels = nil
	for _, ch := range p.Channels {
		less := *ch
		less.Entries = slices.DeleteFunc(slices.Clone(ch.Entries), func(e catalog.Entry) bool { return gone[e.Name] })
		if len(less.Entries) > 0 {
			q.Channels = append(q.Channels, &less)
		}
	}
	return &q
}
