package graph

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Step returns the update that OLM makes automatically, false if it makes none.
//
// OLM classic takes the first entry with an edge from the installed bundle: the default channel
// before other channels, and each channel from its head downwards; see [Order]. OLM v1 takes the
// highest version with such an edge, or stays if that is not higher than the installed version; a
// bundle in olm.deprecations ranks below all others.
func (u *Updates) Step(at At) (Hop, bool) {
	successors := u.successors(at)
	if len(successors) == 0 {
		return Hop{}, false
	}
	best := u.candidates[successors[0]]
	if best.Name == at.Name || u.view.Generation == V1 && u.stays(at, best) {
		return Hop{}, false
	}
	return u.hop(at, successors[0]), true
}

// stays reports whether OLM v1 prefers a bundle of the installed version, which must be in the
// catalog.
func (u *Updates) stays(at At, best candidate) bool {
	runs := catalog.NewVersionRelease(at.Version, at.Release)
	return slices.ContainsFunc(u.present, func(c candidate) bool { return c.order.Compare(runs) == 0 && preferred(c, best) <= 0 })
}

// Walk returns every update that OLM makes automatically, one after the other. A cycle of updates
// ends where it would close.
func (u *Updates) Walk(at At) []Hop {
	var hops []Hop
	seen := map[string]bool{at.Name: true}
	for {
		hop, ok := u.Step(at)
		if !ok || seen[hop.To] {
			return hops
		}
		seen[hop.To] = true
		hops = append(hops, hop)
		at = Running(u.bundles[hop.To])
	}
}
