package layered

import (
	"cmp"
	"slices"
)

// sweeps is how often the order of columns is looked at from either side. More
// than this has not made a real catalog's drawing better.
const sweeps = 12

// order sorts the spots of every column so that few lines cross. The spine stays
// on top.
func (b *band) order() {
	for _, c := range b.columns {
		slices.SortStableFunc(c.spots, func(x, y *spot) int { return cmp.Compare(tier(x), tier(y)) })
		c.number()
	}
	best, fewest := b.snapshot(), b.crossings()
	for i := 0; i < sweeps && fewest > 0; i++ {
		if i%2 == 0 {
			for _, c := range b.columns[1:] {
				c.sort(func(s *spot) []link { return s.left })
			}
		} else {
			for j := len(b.columns) - 2; j >= 0; j-- {
				b.columns[j].sort(func(s *spot) []link { return s.right })
			}
		}
		if n := b.crossings(); n < fewest {
			best, fewest = b.snapshot(), n
		}
	}
	for i, c := range b.columns {
		c.spots = best[i]
		c.number()
	}
}

// tier is the first order of a column: the spine, boxes, lines.
func tier(s *spot) int {
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
	for i, s := range c.spots {
		s.index = i
	}
}

// sort orders a column by the mean place of its neighbours on one side. A spot
// without any keeps its place.
func (c *column) sort(side func(*spot) []link) {
	mean := make(map[*spot]float64, len(c.spots))
	for _, s := range c.spots {
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
	slices.SortStableFunc(c.spots, func(x, y *spot) int { return cmp.Compare(mean[x], mean[y]) })
	c.number()
}

func (b *band) snapshot() [][]*spot {
	orders := make([][]*spot, len(b.columns))
	for i, c := range b.columns {
		orders[i] = slices.Clone(c.spots)
	}
	return orders
}

// crossings counts the pairs of lines that cross between neighbouring columns:
// the inversions in the right ends of the lines taken in the order of the left,
// with a tree of partial sums.
func (b *band) crossings() int {
	total := 0
	for i, c := range b.columns[:len(b.columns)-1] {
		sums := make([]int, len(b.columns[i+1].spots)+1)
		lines := 0
		for _, s := range c.spots {
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
