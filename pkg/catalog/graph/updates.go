package graph

import (
	"cmp"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Updates are the updates of a package as a cluster sees them. They are built once for many
// queries, and must be used by one goroutine only.
type Updates struct {
	view View
	// candidates are the bundles that may be installed, once per channel, in the order of
	// preference.
	candidates []candidate
	// named has, for a bundle, the candidates that replace or skip it, ranged those with a
	// skipRange; both in the order of preference.
	named  map[string][]int
	ranged []int
	// bundles are those in the view that have a version.
	bundles map[string]*catalog.Bundle
	// present are, for OLM v1, the bundles where the cluster can stay.
	present []candidate
}

// A candidate is a channel entry with its bundle.
type candidate struct {
	catalog.Entry
	channel    string
	bundle     *catalog.Bundle
	within     semver.Range // nil without a readable skipRange
	order      catalog.VersionRelease
	deprecated bool
}

// NewUpdates builds the updates of a package. Entries without a bundle, and bundles without a
// version, are never updates.
func NewUpdates(p *catalog.Package, v View) *Updates {
	u := &Updates{view: v, named: map[string][]int{}, bundles: map[string]*catalog.Bundle{}}
	all := make(map[string]*catalog.Bundle, len(p.Bundles))
	for _, b := range p.Bundles {
		if _, again := all[b.Name]; b.VersionErr == nil && !again {
			all[b.Name] = b
		}
	}
	var ok bool
	if v.Generation == V1 {
		ok = u.union(p, all)
	} else {
		ok = u.chains(p, all)
	}
	if !ok {
		u.candidates = nil
	}
	for i := range u.candidates {
		c := &u.candidates[i]
		if c.Replaces != "" {
			u.named[c.Replaces] = append(u.named[c.Replaces], i)
		}
		for _, skip := range c.Skips {
			if at := u.named[skip]; skip != "" && (len(at) == 0 || at[len(at)-1] != i) {
				u.named[skip] = append(at, i)
			}
		}
		if within, err := Range(c.Entry); err == nil && c.SkipRange != "" {
			c.within = within
			u.ranged = append(u.ranged, i)
		}
	}
	return u
}

// chains adds the candidates of OLM classic: the default channel first, then channels by name;
// within a channel in its order. It returns false if a channel has no order, because that is an
// error for all of them.
func (u *Updates) chains(p *catalog.Package, all map[string]*catalog.Bundle) bool {
	channels := slices.Clone(p.Channels)
	elements.Sort(channels, func(a, b *catalog.Channel) int {
		if isDefault := a.Name == p.DefaultChannel; isDefault != (b.Name == p.DefaultChannel) {
			if isDefault {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	for _, ch := range channels {
		if !u.view.follows(ch.Name) || len(ch.Entries) == 0 {
			continue
		}
		order := Order(ch.Entries)
		if len(order) == 0 {
			return false
		}
		for _, e := range order {
			b := all[e.Name]
			if b == nil || prohibited(b) || u.view.Accept != nil && !u.view.Accept(b) {
				continue
			}
			u.bundles[e.Name] = b
			u.candidates = append(u.candidates, candidate{Entry: e, channel: ch.Name, bundle: b})
		}
	}
	return true
}

// prohibited reports whether the bundle has the property that keeps OLM classic from ever
// installing it, which dates from SQLite catalogs. It is unrelated to olm.deprecations.
func prohibited(b *catalog.Bundle) bool {
	return slices.ContainsFunc(b.Properties, func(p catalog.Property) bool { return p.Type == "olm.deprecated" })
}

// union adds the candidates of OLM v1: the bundles of all channels, the highest version first,
// deprecated ones last.
func (u *Updates) union(p *catalog.Package, all map[string]*catalog.Bundle) bool {
	deprecated := map[string]bool{}
	for _, d := range p.Deprecations {
		for _, e := range d.Entries {
			if e.Schema == catalog.SchemaBundle {
				deprecated[e.Name] = true
			}
		}
	}
	have := map[string]bool{}
	for _, ch := range p.Channels {
		if !u.view.follows(ch.Name) {
			continue
		}
		for _, e := range ch.Entries {
			b := all[e.Name]
			if b == nil || u.view.Accept != nil && !u.view.Accept(b) {
				continue
			}
			c := candidate{Entry: e, channel: ch.Name, bundle: b, order: catalog.NewVersionRelease(b.Version, b.Release), deprecated: deprecated[e.Name]}
			u.candidates = append(u.candidates, c)
			if u.bundles[e.Name] = b; !have[e.Name] {
				have[e.Name] = true
				u.present = append(u.present, c)
			}
		}
	}
	elements.Sort(u.candidates, func(a, b candidate) int {
		return cmp.Or(preferred(a, b), cmp.Compare(a.Name, b.Name), cmp.Compare(a.channel, b.channel))
	})
	return true
}

// preferred is negative if OLM v1 prefers a to b.
func preferred(a, b candidate) int {
	if a.deprecated != b.deprecated {
		if b.deprecated {
			return -1
		}
		return 1
	}
	return b.order.Compare(a.order)
}

// successors returns the indexes of the candidates that an edge leads to, in the order of
// preference.
func (u *Updates) successors(at At) []int {
	found := slices.Clone(u.named[at.Name])
	for _, i := range u.ranged {
		if u.candidates[i].within(at.Version) {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// hop returns the update to a candidate.
func (u *Updates) hop(at At, i int) Hop {
	c := u.candidates[i]
	kind := cmp.Or(names(c.Entry, at.Name), SkipRange)
	return Hop{Channel: c.channel, From: at.Name, To: c.Name, Edge: kind}
}
