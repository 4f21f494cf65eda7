package upgrade

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Replacement is what clusters lose if a catalog replaces another one under its name.
type Replacement struct {
	// Stranded are the bundles of the replaced catalog from which OLM no longer reaches the head, sorted
	// by package and channel.
	Stranded []StrandedBundles `json:"stranded,omitempty"`
	// Older are the channels whose head has a lower version than before, sorted by package and channel.
	Older []OlderHead `json:"older,omitempty"`
}

// StrandedBundles are bundles of one channel that have the same problem.
type StrandedBundles struct {
	Package string `json:"package"`
	// Channel is the channel that clusters follow; "" for a ClusterExtension without channels.
	Channel string `json:"channel,omitempty"`
	// Generations are the generations of OLM that have the problem, "OLM classic" and "OLM v1".
	Generations []string `json:"generations"`
	// Bundles may be installed in clusters, since the replaced catalog has them. They are in the order of
	// their versions.
	Bundles []string `json:"bundles"`
	// Outcome is Stranded, NeedsPinning or, if the whole package is gone, NotMirrored.
	Outcome Outcome `json:"outcome"`
	// Explanation is a sentence.
	Explanation string `json:"why"`
	Fixes       []Fix  `json:"fixes,omitempty"`
}

// An OlderHead is a channel whose head moved backwards.
type OlderHead struct {
	Package string `json:"package"`
	Channel string `json:"channel"`
	Before  string `json:"before"`
	After   string `json:"after"`
}

// Replace compares a catalog with the one that it replaces, by the rules of both generations of OLM. Any
// bundle of the replaced catalog may be installed. Those from which OLM reached the head there, and does not
// reach the new head, or only if versions are pinned now, are in the result. Only the update graph counts: what a cluster runs
// and what blocks an update there is unknown, and Check finds it.
//
// Neither catalog needs the text of its bundles (catalog.Options.DropText). If after.Source is nil, the
// fixes do not name the bundles to keep.
func Replace(before *catalog.Catalog, after Catalog) Replacement {
	var r Replacement
	for _, p := range before.Packages {
		q := after.Kept.Package(p.Name)
		if q == nil {
			r.Stranded = append(r.Stranded, goneWith(p, after))
			continue
		}
		if sameGraph(p, q) {
			continue
		}
		r.Stranded = append(r.Stranded, newReplacedPackage(p, q, after).stranded()...)
		r.Older = append(r.Older, olderHeads(p, q)...)
	}
	return r
}

// goneWith returns the bundles of a package that the new catalog does not have.
func goneWith(p *catalog.Package, after Catalog) StrandedBundles {
	s := StrandedBundles{
		Package: p.Name, Generations: []string{graph.Classic.String(), graph.V1.String()}, Outcome: NotMirrored,
		Explanation: "the package is no longer in the catalog, so installed operators get no updates",
	}
	for _, b := range byVersion(p, nil) {
		s.Bundles = append(s.Bundles, b.Name)
	}
	if after.Source == nil || find(after.Source, p.Name) != nil || slices.Contains(after.Source.Names, p.Name) {
		s.Fixes = []Fix{{Catalog: after.Name, Package: p.Name, Message: "add {name: " + p.Name + "} to packages of the catalog in the configuration"}}
	} else {
		s.Explanation += "; the publisher's catalog does not have it either"
	}
	return s
}

// byVersion returns the bundles of a package that have a version and that keep accepts, each once, the lowest first. A nil
// keep accepts all.
func byVersion(p *catalog.Package, keep func(name string) bool) []*catalog.Bundle {
	all := elements.Filter(p.Bundles, func(b *catalog.Bundle) bool { return b.VersionErr == nil && (keep == nil || keep(b.Name)) })
	elements.Sort(all, func(a, b *catalog.Bundle) int {
		return cmp.Or(catalog.NewVersionRelease(a.Version, a.Release).Compare(catalog.NewVersionRelease(b.Version, b.Release)), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(all, func(a, b *catalog.Bundle) bool { return a.Name == b.Name })
}

// sameGraph reports whether two packages have the same updates.
func sameGraph(p, q *catalog.Package) bool {
	return p.DefaultChannel == q.DefaultChannel &&
		slices.EqualFunc(p.Channels, q.Channels, func(a, b *catalog.Channel) bool {
			return a.Name == b.Name && slices.EqualFunc(a.Entries, b.Entries, func(a, b catalog.Entry) bool {
				return a.Name == b.Name && a.Replaces == b.Replaces && a.SkipRange == b.SkipRange && slices.Equal(a.Skips, b.Skips)
			})
		}) &&
		slices.EqualFunc(p.Bundles, q.Bundles, func(a, b *catalog.Bundle) bool {
			return a.Name == b.Name && a.Version.String() == b.Version.String() && a.Release == b.Release && (a.VersionErr == nil) == (b.VersionErr == nil)
		}) &&
		slices.EqualFunc(p.Deprecations, q.Deprecations, func(a, b *catalog.Deprecations) bool { return slices.Equal(a.Entries, b.Entries) })
}

// olderHeads returns the channels whose head has a lower version than before.
func olderHeads(p, q *catalog.Package) []OlderHead {
	var all []OlderHead
	for _, ch := range p.Channels {
		now := q.Channel(ch.Name)
		if now == nil {
			continue
		}
		was, is := graph.Inspect(ch.Entries).Heads, graph.Inspect(now.Entries).Heads
		if len(was) != 1 || len(is) != 1 || was[0] == is[0] {
			continue
		}
		a, b := p.Bundle(was[0]), q.Bundle(is[0])
		if a == nil || b == nil || a.VersionErr != nil || b.VersionErr != nil {
			continue
		}
		if catalog.NewVersionRelease(b.Version, b.Release).Compare(catalog.NewVersionRelease(a.Version, a.Release)) < 0 {
			all = append(all, OlderHead{Package: p.Name, Channel: ch.Name, Before: a.Name, After: b.Name})
		}
	}
	return all
}

// A replacedPackage is a package of both catalogs.
type replacedPackage struct {
	was, is  *catalog.Package
	old, new pathCheck // without an operator
}

func newReplacedPackage(was, is *catalog.Package, after Catalog) replacedPackage {
	return replacedPackage{
		was: was, is: is,
		old: pathCheck{catalog: Catalog{Kept: &catalog.Catalog{Packages: []*catalog.Package{was}}}, kept: was, edges: newEdges()},
		new: pathCheck{
			catalog: Catalog{Name: after.Name, Kept: &catalog.Catalog{Packages: []*catalog.Package{is}}, Source: after.Source},
			kept:    is, source: find(after.Source, was.Name), edges: newEdges(),
		},
	}
}

// A lostPath is the upgrade path to the head that some bundles have lost for the same reason.
type lostPath struct {
	outcome     Outcome
	explanation string
	generations []graph.Generation
	keep        []string             // the bundles that the fix adds
	operators   []installed.Operator // which run the bundles, of the first generation
	widest      int                  // the index of the operator with the most in keep
}

// like reports whether the fix of one also fixes the other: it keeps the same bundles or more.
func (p *lostPath) like(other *lostPath) bool {
	return p.outcome == other.outcome && p.explanation == other.explanation && (len(p.keep) == 0) == (len(other.keep) == 0) &&
		(contains(p.keep, other.keep) || contains(other.keep, p.keep))
}

// contains reports whether a list contains all elements of another one.
func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// stranded returns the bundles from which OLM no longer reaches the head.
func (r replacedPackage) stranded() []StrandedBundles {
	var all []StrandedBundles
	anywhere := map[string]bool{}
	for _, ch := range r.was.Channels {
		listed := map[string]bool{}
		for _, e := range ch.Entries {
			listed[e.Name], anywhere[e.Name] = true, true
		}
		all = append(all, r.strandedIn(ch.Name, listed, graph.Classic, graph.V1)...)
	}
	for _, s := range all {
		for _, name := range s.Bundles {
			if slices.Contains(s.Generations, graph.V1.String()) {
				delete(anywhere, name)
			}
		}
	}
	return append(all, r.strandedIn("", anywhere, graph.V1)...)
}

// strandedIn returns which of the listed bundles are stranded in clusters that follow a channel, or any if it
// is "".
func (r replacedPackage) strandedIn(channel string, listed map[string]bool, generations ...graph.Generation) []StrandedBundles {
	var lost []*lostPath
	for _, b := range byVersion(r.was, func(name string) bool { return listed[name] }) {
		var found []*lostPath
		for _, g := range generations {
			p := r.lost(operatorOf(b, g, channel))
			switch {
			case p == nil:
			case len(found) == 1 && found[0].like(p) && len(found[0].keep) == len(p.keep):
				found[0].generations = append(found[0].generations, g)
			default:
				found = append(found, p)
			}
		}
		for _, f := range found {
			i := slices.IndexFunc(lost, func(p *lostPath) bool { return p.like(f) && slices.Equal(p.generations, f.generations) })
			if i < 0 {
				lost = append(lost, f)
				continue
			}
			p := lost[i]
			p.operators = append(p.operators, f.operators...)
			if len(f.keep) > len(p.keep) {
				p.keep, p.widest = f.keep, len(p.operators)-1
			}
		}
	}
	return elements.Map(lost, func(p *lostPath) StrandedBundles { return r.describe(p, channel) })
}

// describe returns a lost path with its fixes.
func (r replacedPackage) describe(p *lostPath, channel string) StrandedBundles {
	s := StrandedBundles{Package: r.was.Name, Channel: channel, Outcome: p.outcome, Explanation: p.explanation}
	for _, g := range p.generations {
		s.Generations = append(s.Generations, g.String())
	}
	for _, o := range p.operators {
		s.Bundles = append(s.Bundles, o.Bundle)
	}
	for _, g := range p.generations {
		operators := slices.Clone(p.operators)
		for i := range operators {
			operators[i].Generation = g
		}
		widest, others := operators[p.widest], operators[1:]
		if len(p.keep) > 0 {
			others = nil
		}
		for _, f := range r.newPath(widest, others...).Fixes {
			if !slices.ContainsFunc(s.Fixes, func(have Fix) bool { return have.Message == f.Message }) {
				s.Fixes = append(s.Fixes, f)
			}
		}
	}
	return s
}

// operatorOf returns an operator that runs a bundle.
func operatorOf(b *catalog.Bundle, g graph.Generation, channel string) installed.Operator {
	o := installed.Operator{Generation: g, Package: b.Package, Bundle: b.Name, Version: b.Version.String(), Release: b.Release}
	if channel != "" {
		o.Channels = []string{channel}
	}
	return o
}

// lost returns the path that an operator has lost, nil if it has one or had none before.
func (r replacedPackage) lost(o installed.Operator) *lostPath {
	c := r.old
	c.operator, c.at = o, graph.Running(r.was.Bundle(o.Bundle))
	was, is := c.path().Outcome, r.newPath(o)
	if !slices.Contains([]Outcome{NeedsPinning, Stranded}, is.Outcome) || was != Ahead && was.rank() >= is.Outcome.rank() {
		return nil
	}
	p := &lostPath{outcome: is.Outcome, explanation: is.Explanation, generations: []graph.Generation{o.Generation}, operators: []installed.Operator{o}}
	for _, f := range is.Fixes {
		p.keep = append(p.keep, f.Keep...)
	}
	return p
}

// newPath returns the path of an operator in the new catalog. The fixes are for the others, too.
func (r replacedPackage) newPath(o installed.Operator, others ...installed.Operator) Path {
	c := r.new
	c.operator, c.at, c.like = o, graph.Running(r.was.Bundle(o.Bundle)), others
	return c.path()
}

// path returns the path of an operator that follows one channel, or, in OLM v1, any.
func (c pathCheck) path() Path {
	if c.operator.Generation == graph.V1 {
		return c.extension()
	}
	return c.channel(c.operator.Channels[0])
}
