package layered

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// sweeps is how often the columns are sorted from either side. More sweeps did not improve the
// drawings of real catalogs.
const sweeps = 12

// order sorts the slots of every column so that few lines cross. The spine stays on top.
func (b *band) order() {
	for _, c := range b.columns {
		elements.Sort(c.slots, func(x, y *slot) int { return cmp.Compare(tier(x), tier(y)) })
		c.number()
	}
	best, fewest := b.snapshot(), b.crossings()
	for i := 0; i < sweeps && fewest > 0; i++ {
		if i%2 == 0 {
			for _, c := range b.columns[1:] {
				c.sort(func(s *slot) []link { return s.left })
			}
		} else {
			for j := len(b.columns) - 2; j >= 0; j-- {
				b.columns[j].sort(func(s *slot) []link { return s.right })
			}
		}
		if n := b.crossings(); n < fewest {
			best, fewest = b.snapshot(), n
		}
	}
	for i, c := range b.columns {
		c.slots = best[i]
		c.number()
	}
}

// tier is the initial order of a column: the spine, boxes, lines.
func tier(s *slot) int {
	switch {
	case s.spine:
		return 0
	case s.item != nil:
		return 1
	default:
		return 2
	}
}

func (c *column) number() {
	for i, s := range c.slots {
		s.index = i
	}
}

// sort orders a column by the mean position of its neighbors on one side. Slots without neighbors
// keep their position.
func (c *column) sort(side func(*slot) []link) {
	mean := make(map[*slot]float64, len(c.slots))
	for _, s := range c.slots {
		mean[s] = float64(s.index)
		if links := side(s); len(links) > 0 {
			sum, weight := 0.0, 0.0
			for _, l := range links {
				sum += float64(l.to.index) * float64(l.weight)
				weight += float64(l.weight)
			}
			mean[s] = sum / weight
		}
		if tier(s) == 0 {
			mean[s] = -1
		}
	}
	elements.Sort(c.slots, func(x, y *slot) int { return cmp.Compare(mean[x], mean[y]) })
	c.number()
}

func (b *band) snapshot() [][]*slot {
	orders := make([][]*slot, len(b.columns))
	for i, c := range b.columns {
		orders[i] = slices.Clone(c.slots)
	}
	return orders
}

// crossings counts the pairs of lines that cross between neighboring columns: the inversions in the
// right ends of the lines sorted by their left ends, with a Fenwick tree.
func (b *band) crossings() int {
	total := 0
	for i, c := range b.columns[:len(b.columns)-1] {
		sums := make([]int, len(b.columns[i+1].slots)+1)
		lines := 0
		for _, s := range c.slots {
			ends := make([]int, len(s.right))
			for j, l := range s.right {
				ends[j] = l.to.index
			}
			slices.Sort(ends)
			for _, end := range ends {
				notAfter := 0
				for k := end + 1; k > 0; k -= k & -k {
					notAfter += sums[k]
				}
				total += lines - notAfter
			}
			for _, end := range ends {
				for k := end + 1; k < len(sums); k += k & -k {
					sums[k]++
				}
				lines++
			}
		}
	}
	return total
}
