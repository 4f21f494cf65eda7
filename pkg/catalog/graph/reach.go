package graph

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Mode selects who chooses the updates.
type Mode int

const (
	// Automatic means that OLM chooses; see [Updates.Walk].
	Automatic Mode = iota
	// AnyPath means that a user chooses each update among those that OLM offers: in OLM v1 by
	// setting the version of the ClusterExtension, hop by hop. OLM classic offers no choice; there
	// it includes what dependencies may cause.
	AnyPath
)

// Reachable reports whether a cluster reaches the bundle with the name, and returns the hops, none
// if the cluster already runs it. With [AnyPath] the path is the shortest; among several, it is the
// one that OLM's own preference finds first.
func (u *Updates) Reachable(at At, to string, m Mode) ([]Hop, bool) {
	if at.Name == to {
		return nil, true
	}
	if m == Automatic {
		hops := u.Walk(at)
		end := slices.IndexFunc(hops, func(h Hop) bool { return h.To == to })
		if end < 0 {
			return nil, false
		}
		return hops[:end+1], true
	}
	first := map[string]Hop{at.Name: {}} // the first hop that led to a bundle
	for queue := []At{at}; len(queue) > 0; {
		from := queue[0]
		queue = queue[1:]
		for _, i := range u.successors(from) {
			hop := u.hop(from, i)
			if _, seen := first[hop.To]; seen {
				continue
			}
			first[hop.To] = hop
			if hop.To == to {
				return back(first, at.Name, to), true
			}
			queue = append(queue, Running(u.candidates[i].bundle))
		}
	}
	return nil, false
}

// back collects the hops from one bundle to another.
func back(first map[string]Hop, from, to string) []Hop {
	var hops []Hop
	for to != from {
		hop := first[to]
		hops = append(hops, hop)
		to = hop.From
	}
	slices.Reverse(hops)
	return hops
}

// Reachable is [Updates.Reachable] for a single query.
func Reachable(p *catalog.Package, at At, to string, v View, m Mode) ([]Hop, bool) {
	return NewUpdates(p, v).Reachable(at, to, m)
}
