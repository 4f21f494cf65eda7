package graph

import (
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Step is the update that OLM makes by itself from where a cluster is; false if
// it makes none.
//
// OLM classic takes the first entry with an edge from there, of the default
// channel before other channels, and from the head of a channel downwards; see
// [Order]. OLM v1 takes the highest version that it has an edge to, or stays
// where that is not higher than the version it runs; a bundle that
// olm.deprecations name counts below all others.
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

// stays reports whether OLM v1 prefers a bundle of the version that the cluster
// runs already, which it can only if the catalog has one.
func (u *Updates) stays(at At, best candidate) bool {
	runs := catalog.NewVersionRelease(at.Version, at.Release)
	for _, c := range u.present {
		if c.order.Compare(runs) == 0 && preferred(c, best) <= 0 {
			return true
		}
	}
	return false
}

// Walk is every update that OLM makes by itself, one after the other, until
// there is no other. A circle of updates ends where it would close.
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

// Step is [Updates.Step] of a package that is asked once.
func Step(p *catalog.Package, at At, v View) (Hop, bool) { return NewUpdates(p, v).Step(at) }

// Walk is [Updates.Walk] of a package that is asked once.
func Walk(p *catalog.Package, at At, v View) []Hop { return NewUpdates(p, v).Walk(at) }
