package graph

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Shape is the structure of a channel by its replaces and skips; skipRange does not count.
// Channels that OLM accepts have one head, no cycle and no stranded entries; see [Shape.Valid].
type Shape struct {
	// Heads are the entries that no entry of the channel replaces or skips, sorted by name.
	Heads []string
	// Chain is the head and what it replaces, step by step, until an entry that is skipped, a name
	// that is not in the channel, or the end. It is empty unless there is exactly one head.
	Chain []string
	// Cycle is the part of the chain that leads back to itself, beginning and ending with the same
	// name: a, b, a. It is empty without a cycle.
	Cycle []string
	// Skipped are the entries that another entry skips. Names that are not in the channel, often
	// thousands, are not included.
	Skipped map[string]bool
	// Stranded are the entries that are neither on the chain nor skipped, sorted by name. It is
	// empty unless there is exactly one head and no cycle.
	Stranded []string
}

// Valid reports whether OLM accepts a channel with this shape.
func (s Shape) Valid() bool {
	return len(s.Heads) == 1 && len(s.Cycle) == 0 && len(s.Stranded) == 0
}

// Inspect returns the shape of a channel, by the algorithm of operator-registry's alpha/model
// (Channel.Head and Channel.validateReplacesChain). If entries have the same name, which is
// invalid, the first one counts for the chain.
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

	position := map[string]int{}
	for cur := shape.Heads[0]; ; cur = replaces[cur] {
		position[cur] = len(shape.Chain)
		shape.Chain = append(shape.Chain, cur)
		next := replaces[cur]
		if shape.Skipped[next] {
			break
		}
		if from, seen := position[next]; seen {
			shape.Cycle = append(slices.Clone(shape.Chain[from:]), next)
			return shape
		}
		if _, present := replaces[next]; !present {
			break
		}
	}
	for name := range replaces {
		if _, onChain := position[name]; !onChain && !shape.Skipped[name] {
			shape.Stranded = append(shape.Stranded, name)
		}
	}
	slices.Sort(shape.Stranded)
	return shape
}
