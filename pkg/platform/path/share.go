package path

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// share decides for every node on the paths of the sources which node is next. All best paths of a
// node have the same number of hops, so nodes are handled in groups by the hops that remain, the
// farthest first. Each group chooses few distinct next nodes, and prefers sources, which are
// mirrored anyway.
func (s *search) share(sources []int, costs []Cost) map[int]int {
	var levels [][]int
	reach := func(i int) {
		for len(levels) <= costs[i].Hops {
			levels = append(levels, nil)
		}
		if l := &levels[costs[i].Hops]; !slices.Contains(*l, i) {
			*l = append(*l, i)
		}
	}
	for _, i := range sources {
		reach(i)
	}
	next := map[int]int{}
	for left := len(levels) - 1; left > 0; left-- {
		sets := elements.Map(levels[left], func(i int) []int { return s.best(i, costs) })
		for at, to := range cover(sets, levels[left-1]) {
			next[levels[left][at]] = to
			reach(to)
		}
	}
	return next
}

// best returns the next nodes on best paths from node i, lowest first.
func (s *search) best(i int, costs []Cost) []int {
	var next []int
	for _, e := range s.g.From(i) {
		if int(e.To) > i && costs[e.To] != none && s.cost(i, e).plus(costs[e.To]) == costs[i] {
			next = append(next, int(e.To))
		}
	}
	return next
}

// cover chooses one node of each set, so that few distinct nodes are added to the present ones. No
// set is empty. Finding the minimum takes too long, so the choice is greedy: repeatedly the node
// that is in most of the remaining sets, and the newest of those.
func cover(sets [][]int, present []int) []int {
	containing := map[int][]int{} // the sets that contain a node
	for at, set := range sets {
		for _, n := range set {
			containing[n] = append(containing[n], at)
		}
	}
	gain := make(map[int]int, len(containing))
	for n, in := range containing {
		gain[n] = len(in)
	}
	left, covered, chosen := len(sets), make([]bool, len(sets)), map[int]bool{}
	choose := func(node int) {
		chosen[node] = true
		for _, at := range containing[node] {
			if covered[at] {
				continue
			}
			covered[at] = true
			left--
			for _, n := range sets[at] {
				gain[n]--
			}
		}
	}
	for _, n := range present {
		choose(n)
	}
	for left > 0 {
		most := -1
		for n, sets := range gain {
			if most < 0 || cmp.Or(cmp.Compare(sets, gain[most]), cmp.Compare(n, most)) > 0 {
				most = n
			}
		}
		choose(most)
	}
	result := make([]int, len(sets))
	for at, set := range sets {
		for _, n := range set {
			if chosen[n] {
				result[at] = max(result[at], n)
			}
		}
	}
	return result
}
