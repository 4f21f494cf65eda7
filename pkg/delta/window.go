package delta

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// window is the part of the bases that a piece is compared with: ranges of addresses, joined.
type window struct {
	content []byte
	ranges  []span
	starts  []int // of each range in content, and the end of the last
}

const (
	voteShift = 15 // a vote is for 32 KiB of the bases
	granule   = int64(1) << voteShift
)

// choose returns the ranges for a piece: those its segments are near to, and those where the anchors in target are.
func choose(p piece, target []byte, a *anchors, e effort, end int64) []span {
	var chosen []span
	for _, s := range p.segments {
		if s.copied < 0 && s.near.size() > 0 {
			chosen = append(chosen, s.near)
		}
	}
	chosen = merge(chosen)
	size := int64(0)
	for _, s := range chosen {
		size += s.size()
	}
	for _, at := range elect(target, a) {
		if size >= e.window {
			break
		}
		s := span{at * granule, min(end, (at+1)*granule)}
		if s.size() <= 0 || covered(chosen, s) {
			continue
		}
		chosen = append(chosen, s)
		size += s.size()
	}
	return merge(chosen)
}

// covered is true if one of the ranges contains s.
func covered(ranges []span, s span) bool {
	return slices.ContainsFunc(ranges, func(r span) bool { return r.start <= s.start && s.end <= r.end })
}

// elect returns the granules that anchors of the target are in or next to, those with the most anchors first.
func elect(target []byte, a *anchors) []int64 {
	votes := map[int64]int{}
	a.each(target, func(_ int, hash uint64) {
		if at, ok := a.find(hash); ok {
			at >>= voteShift
			votes[at] += 4
			votes[at+1]++
			if at > 0 {
				votes[at-1]++
			}
		}
	})
	return elements.Sorted(maps.Keys(votes), func(a, b int64) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b))
	})
}

// merge sorts ranges and joins those that touch.
func merge(ranges []span) []span {
	elements.Sort(ranges, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && r.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, r.end)
			continue
		}
		out = append(out, r)
	}
	return out
}

// load reads the ranges.
func (w *window) load(from *addresses, ranges []span, most int64) error {
	w.ranges, w.starts = ranges, w.starts[:0]
	size := 0
	for _, r := range ranges {
		w.starts = append(w.starts, size)
		size += int(r.size())
	}
	w.starts = append(w.starts, size)
	w.content = room(w.content, size, int(most+granule))
	for i, r := range ranges {
		if err := from.read(w.content[w.starts[i]:w.starts[i+1]], r.start); err != nil {
			return err
		}
	}
	return nil
}

// limits returns where the range with position at begins and ends in content.
func (w *window) limits(at int) (int, int) {
	i := sort.SearchInts(w.starts, at+1) - 1
	return w.starts[i], w.starts[i+1]
}

// address returns the address of a position in content.
func (w *window) address(at int) int64 {
	i := sort.SearchInts(w.starts, at+1) - 1
	return w.ranges[i].start + int64(at-w.starts[i])
}

// position returns the position of an address in content, or -1.
func (w *window) position(address int64) int {
	i := sort.Search(len(w.ranges), func(i int) bool { return w.ranges[i].end > address })
	if i == len(w.ranges) || address < w.ranges[i].start {
		return -1
	}
	return w.starts[i] + int(address-w.ranges[i].start)
}
