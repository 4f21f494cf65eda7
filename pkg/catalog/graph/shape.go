package graph

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Shape is what a channel's replaces and skips make of its entries.
// skipRange plays no part in it. Channels that OLM accepts have one head, no
// cycle, and nothing stranded; see [Shape.Whole].
type Shape struct {
	// Heads are the entries that no entry of the channel replaces or skips,
	// sorted by name.
	Heads []string
	// Chain is the head and what it replaces, step by step: up to an entry that
	// is skipped, a name that the channel does not have, or the bottom. It is
	// empty unless there is exactly one head.
	Chain []string
	// Cycle is the part of the chain that leads back to itself, beginning and
	// ending with the same name: a, b, a. It is empty where there is none.
	Cycle []string
	// Skipped are the entries that some entry skips. Names that the channel
	// does not have, which may be thousands, are not among them.
	Skipped map[string]bool
	// Stranded are the entries that are neither on the chain nor skipped,
	// sorted by name. It is empty unless there is exactly one head and no
	// cycle.
	Stranded []string
}

// Whole reports whether OLM accepts a channel of this shape.
func (s Shape) Whole() bool {
	return len(s.Heads) == 1 && len(s.Cycle) == 0 && len(s.Stranded) == 0
}

// Inspect finds the shape of a channel, by the algorithm of operator-registry's
// alpha/model (Channel.Head and Channel.validateReplacesChain). Of entries with
// the same name, which no valid channel has, the first gives the chain.
func Inspect(entries []catalog.Entry) Shape {
	shape := Shape{Skipped: map[string]bool{}}
	replaces := make(map[string]string, len(entries))
	replaced := make(map[string]bool, len(entries))
	for _, e := range entries {
		if _, again := replaces[e.Name]; !again {
			replaces[e.Name] = e.Replaces
		}
		if e.Replaces != "" {
			replaced[e.Replaces] = true
		}
	}
	for _, e := range entries {
		for _, skip := range e.Skips {
			if _, present := replaces[skip]; present {
				shape.Skipped[skip] = true
			}
		}
	}
	for name := range replaces {
		if !replaced[name] && !shape.Skipped[name] {
			shape.Heads = append(shape.Heads, name)
		}
	}
	slices.Sort(shape.Heads)
	if len(shape.Heads) != 1 {
		return shape
	}

	place := map[string]int{}
	for cur := shape.Heads[0]; ; cur = replaces[cur] {
		place[cur] = len(shape.Chain)
		shape.Chain = append(shape.Chain, cur)
		next := replaces[cur]
		if shape.Skipped[next] {
			break
		}
		if from, seen := place[next]; seen {
			shape.Cycle = append(slices.Clone(shape.Chain[from:]), next)
			return shape
		}
		if _, present := replaces[next]; !present {
			break
		}
	}
	for name := range replaces {
		if _, onChain := place[name]; !onChain && !shape.Skipped[name] {
			shape.Stranded = append(shape.Stranded, name)
		}
	}
	slices.Sort(shape.Stranded)
	return shape
}
