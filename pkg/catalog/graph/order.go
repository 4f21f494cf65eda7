package graph

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Order returns the entries of a channel in the order in which OLM classic tries them: the head and
// what it replaces, step by step, without entries that another entry skips. The walk continues
// below a skipped entry. Other entries are not in the result.
//
// It returns nil if there is no head, more than one, or a cycle of replaces: OLM classic then
// resolves nothing in the whole namespace (operator-lifecycle-manager, resolver, sortChannel).
func Order(entries []catalog.Entry) []catalog.Entry {
	position := make(map[string]int, len(entries))
	for i, e := range entries {
		position[e.Name] = i
	}
	reached := make([]bool, len(entries)) // replaced or skipped
	skipped := make([]bool, len(entries))
	for _, e := range entries {
		if i, ok := position[e.Replaces]; ok && e.Replaces != "" {
			reached[i] = true
		}
		for _, skip := range e.Skips {
			if i, ok := position[skip]; ok {
				reached[i], skipped[i] = true, true
			}
		}
	}
	head := -1
	for i, e := range entries {
		switch {
		case reached[i] || position[e.Name] != i:
		case head >= 0:
			return nil
		default:
			head = i
		}
	}
	if head < 0 {
		return nil
	}
	var order []catalog.Entry
	seen := make([]bool, len(entries))
	for i, ok := head, true; ok; i, ok = position[entries[i].Replaces] {
		if seen[i] {
			return nil
		}
		seen[i] = true
		if !skipped[i] {
			order = append(order, entries[i])
		}
	}
	return slices.Clip(order)
}
