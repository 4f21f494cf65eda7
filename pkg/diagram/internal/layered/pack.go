package layered

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// packFrom is the number of boxes with the same successors from which they become a grid.
const packFrom = 4

// split builds the items and arcs of the graph and returns its connected parts, the largest first,
// then in the order of their first boxes.
func split(g Graph) []*part {
	items, of := pack(g)
	arcs := connect(g, of)

	// Union-find over items; roots are the smallest indexes.
	index := make(map[*item]int, len(items))
	root := make([]int, len(items))
	for i, it := range items {
		index[it], root[i] = i, i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, a := range arcs {
		x, y := find(index[a.from]), find(index[a.to])
		root[max(x, y)] = min(x, y)
	}
	parts := make(map[int]*part)
	var list []*part
	for i, it := range items {
		r := find(i)
		if parts[r] == nil {
			parts[r] = &part{graph: g}
			list = append(list, parts[r])
		}
		parts[r].items = append(parts[r].items, it)
	}
	for _, a := range arcs {
		p := parts[find(index[a.from])]
		p.arcs = append(p.arcs, a)
	}
	elements.Sort(list, func(a, b *part) int { return cmp.Compare(len(b.items), len(a.items)) })
	return list
}

// pack builds items: a grid of the boxes that have no predecessors and lead to the same boxes by
// the same edges, a grid of the boxes without edges, and every other box alone.
func pack(g Graph) (items []*item, of []*item) {
	out := make([][]Edge, len(g.Boxes))
	entered := make([]bool, len(g.Boxes))
	for _, e := range g.Edges {
		if e.From != e.To {
			out[e.From] = append(out[e.From], e)
			entered[e.To] = true
		}
	}
	keys := make([]string, len(g.Boxes))
	count := map[string]int{}
	for i, size := range g.Boxes {
		if entered[i] {
			continue
		}
		elements.Sort(out[i], func(a, b Edge) int {
			return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Weight, b.Weight))
		})
		var key strings.Builder
		fmt.Fprintf(&key, "%v", size)
		for _, e := range out[i] {
			fmt.Fprintf(&key, " %d/%d/%d", e.To, e.Class, e.Weight)
		}
		keys[i] = key.String()
		count[keys[i]]++
	}
	of = make([]*item, len(g.Boxes))
	packs := map[string]*item{}
	for i, size := range g.Boxes {
		it := packs[keys[i]]
		if it == nil {
			it = &item{size: size}
			items = append(items, it)
			if count[keys[i]] >= packFrom {
				packs[keys[i]] = it
			}
		}
		it.members = append(it.members, i)
		of[i] = it
	}
	for _, it := range items {
		if len(it.members) > 1 {
			it.grid(g.Boxes[it.members[0]], g)
		}
	}
	return items, of
}

// grid sets the size of a pack: about twice as wide as high, and within the width.
func (it *item) grid(cell Size, g Graph) {
	n := float64(len(it.members))
	w, h := cell.W+rowGap, cell.H+rowGap+g.Head
	columns := math.Round(math.Sqrt(2 * n * h / w))
	fitting := math.Floor((g.Width*0.8 - 2*framePad + rowGap) / w)
	columns = max(1, min(columns, fitting, n))
	rows := math.Ceil(n / columns)
	columns = math.Ceil(n / rows) // the last row may need fewer
	it.columns = int(columns)
	it.size = Size{columns*w - rowGap + 2*framePad, rows*h - rowGap + 2*framePad}
}

// cell returns the rectangle of the i-th member of an item.
func (p *part) cell(it *item, i int, rect Rect) Rect {
	size := p.graph.Boxes[it.members[i]]
	if len(it.members) == 1 {
		return Rect{rect.X, rect.Y, size.W, size.H}
	}
	column, row := float64(i%it.columns), float64(i/it.columns)
	return Rect{
		X: rect.X + framePad + column*(size.W+rowGap),
		Y: rect.Y + framePad + p.graph.Head + row*(size.H+rowGap+p.graph.Head),
		W: size.W, H: size.H,
	}
}

// connect builds the arcs. The same edges of a pack's members are one arc.
func connect(g Graph, of []*item) []*arc {
	type key struct {
		from, to *item
		class    int
	}
	packed := map[key]*arc{}
	var arcs []*arc
	for i, e := range g.Edges {
		from, to := of[e.From], of[e.To]
		if from == to {
			continue
		}
		k := key{from, to, e.Class}
		if a := packed[k]; a != nil {
			a.edges = append(a.edges, i)
			continue
		}
		a := &arc{from: from, to: to, edges: []int{i}, class: e.Class, weight: max(1, e.Weight), label: e.Label}
		if len(from.members) > 1 {
			packed[k] = a
		}
		from.out, to.in = append(from.out, a), append(to.in, a)
		arcs = append(arcs, a)
	}
	return arcs
}
