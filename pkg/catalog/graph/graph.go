// Package graph reads the update graph of a channel.
//
// A channel is a list of entries. Each says which bundles it can be reached
// from: the one that it replaces, those that it skips, and those whose version
// lies in its skipRange. So an edge "from n to y" is stored with the successor
// y, and it holds even where n itself is not in the catalog: a cluster that runs
// n finds y all the same. That is why nothing in this house ever rewrites the
// edges of an entry that it keeps.
//
// [Inspect] gives the shape that operator-registry's `opm validate` sees in a
// channel: exactly one head, a chain of replaces below it, and every other entry
// skipped by somebody. It takes no part in judging; pkg/catalog/validate turns a
// shape into findings, and pkg/catalog/filter grows a selection until its shape
// is whole. [Edge] is the edge fact that both generations of OLM resolve by.
//
// Everything here is a pure function of the entries, in time linear in their
// text.
package graph

import (
	"slices"

	"github.com/blang/semver/v4"

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

// Edge reports whether OLM offers the entry as an update to a cluster that runs
// the bundle of that name and version: the entry replaces it, skips it, or has a
// skipRange (github.com/blang/semver grammar) that the version lies in. A
// skipRange that does not parse is no edge; pkg/catalog/validate reports it.
func Edge(e catalog.Entry, name string, version semver.Version) bool {
	if e.Replaces == name && name != "" || slices.Contains(e.Skips, name) {
		return true
	}
	within, err := Range(e)
	return err == nil && within(version)
}

// Range parses an entry's skipRange. The range of an entry without one holds no
// version. The error is blang's, with the text in it.
func Range(e catalog.Entry) (semver.Range, error) {
	if e.SkipRange == "" {
		return func(semver.Version) bool { return false }, nil
	}
	return semver.ParseRange(e.SkipRange)
}
