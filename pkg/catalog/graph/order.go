package graph

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Order is the order in which OLM classic tries the entries of a channel: what
// the head replaces, step by step, from the head down, without entries that some
// entry skips. The walk goes on below a skipped entry. Entries that are neither
// have no place in it.
//
// It is nil where there is no order, since there is no head, or more than one, or
// the entries replace each other in a circle: OLM classic then resolves nothing
// in the whole namespace (operator-lifecycle-manager, resolver, sortChannel).
func Order(entries []catalog.Entry) []catalog.Entry {
	place := make(map[string]int, len(entries))
	for i, e := range entries {
		place[e.Name] = i
	}
	led := make([]bool, len(entries)) // replaced or skipped
	skipped := make([]bool, len(entries))
	for _, e := range entries {
		if i, ok := place[e.Replaces]; ok && e.Replaces != "" {
			led[i] = true
		}
		for _, skip := range e.Skips {
			if i, ok := place[skip]; ok {
				led[i], skipped[i] = true, true
			}
		}
	}
	head := -1
	for i, e := range entries {
		switch {
		case led[i] || place[e.Name] != i:
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
	for i, ok := head, true; ok; i, ok = place[entries[i].Replaces] {
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
