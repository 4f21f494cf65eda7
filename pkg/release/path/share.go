package path

import (
	"cmp"
	"slices"
)

// share decides for every node on the paths of the sources which one is next. All
// best paths of a node are as long, so nodes are taken together by the hops that
// are left, the farthest first: those that are reached choose few different next
// ones beside the sources, which are mirrored anyway.
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
		var sets [][]int
		for _, i := range levels[left] {
			sets = append(sets, s.best(i, costs))
		}
		for at, to := range cover(sets, levels[left-1]) {
			next[levels[left][at]] = to
			reach(to)
		}
	}
	return next
}

// best are the nodes that come next on best paths from node i, lowest first.
func (s *search) best(i int, costs []Cost) []int {
	var next []int
	for _, e := range s.g.From(i) {
		if int(e.To) > i && costs[e.To] != none && s.cost(i, e).plus(costs[e.To]) == costs[i] {
			next = append(next, int(e.To))
		}
	}
	return next
}

// cover takes one node of each set, none of which is empty, so that few different
// ones are taken beside those that are there. Finding the fewest takes too long, so
// it is greedy: again and again the node that is in most of the sets that are left,
// and of those the newest.
func cover(sets [][]int, there []int) []int {
	holders := map[int][]int{} // the sets that a node is in
	for at, set := range sets {
		for _, n := range set {
			holders[n] = append(holders[n], at)
		}
	}
	gain := make(map[int]int, len(holders))
	for n, in := range holders {
		gain[n] = len(in)
	}
	left, covered, chosen := len(sets), make([]bool, len(sets)), map[int]bool{}
	choose := func(node int) {
		chosen[node] = true
		for _, at := range holders[node] {
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
	for _, n := range there {
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
	taken := make([]int, len(sets))
	for at, set := range sets {
		for _, n := range set {
			if chosen[n] {
				taken[at] = max(taken[at], n)
			}
		}
	}
	return taken
}
