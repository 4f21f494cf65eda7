package diff

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A paired holds the elements of two lists with the same key; one may be nil.
type paired[T any] struct {
	before, after *T
}

// change returns Changed if both elements exist, even if they are equal.
func (p paired[T]) change() Change {
	switch {
	case p.before == nil:
		return Added
	case p.after == nil:
		return Removed
	default:
		return Changed
	}
}

// pair matches the elements of two lists by key, and sorts them by key. Duplicates, which only an
// invalid catalog has, are matched in the order of the lists.
func pair[T any](before, after []*T, key func(*T) string) []paired[T] {
	indices := make(map[string][]int, max(len(before), len(after)))
	keys := make([]string, 0, len(before))
	pairs := make([]paired[T], 0, len(before))
	for _, b := range before {
		k := key(b)
		indices[k] = append(indices[k], len(pairs))
		pairs, keys = append(pairs, paired[T]{before: b}), append(keys, k)
	}
	for _, a := range after {
		k := key(a)
		if open := indices[k]; len(open) > 0 {
			pairs[open[0]].after = a
			indices[k] = open[1:]
			continue
		}
		pairs, keys = append(pairs, paired[T]{after: a}), append(keys, k)
	}

	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	elements.Sort(order, func(i, j int) int { return strings.Compare(keys[i], keys[j]) })
	sorted := make([]paired[T], len(pairs))
	for i, at := range order {
		sorted[i] = pairs[at]
	}
	return sorted
}

// changed returns a Text, or nil if both sides are the same.
func changed(before, after string) *Text {
	if before == after {
		return nil
	}
	return &Text{Old: before, New: after}
}

// explained returns the change of a member as a Text, and the members without it. If the two values
// are equal, the difference has another cause and the member stays in the list.
func explained(members []string, member, before, after string) (*Text, []string) {
	text := changed(before, after)
	if text == nil {
		return nil, members
	}
	return text, without(members, member)
}

// without returns a list without one name.
func without(names []string, name string) []string {
	var left []string
	for _, n := range names {
		if n != name {
			left = append(left, n)
		}
	}
	return left
}
