package path

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// A Mode says how the search treats risks.
type Mode string

// The modes.
const (
	// Avoid uses conditional updates only if no other path leads to the target.
	Avoid Mode = "avoid"
	// Ignore accepts every risk that is not forbidden.
	Ignore Mode = "ignore"
)

// A Policy says which risks of updates may be taken. The zero value avoids all, and rejects those
// that apply to every cluster.
type Policy struct {
	// Mode is Avoid if empty.
	Mode Mode
	// Accept and Forbid are names of risks, exactly as in the graph. An accepted risk does not
	// count. An update with a forbidden risk is never taken, even if risks are ignored.
	Accept, Forbid []string
	// AllowAlways also accepts unnamed risks that apply to every cluster, if no other path leads to
	// the target.
	AllowAlways bool
}

func (p Policy) check() error {
	if p.Mode != "" && p.Mode != Avoid && p.Mode != Ignore {
		return fmt.Errorf("unknown mode for risks %q; use %q or %q", p.Mode, Avoid, Ignore)
	}
	for _, name := range p.Accept {
		if slices.Contains(p.Forbid, name) {
			return fmt.Errorf("risk %q is both accepted and forbidden; remove it from one of the lists", name)
		}
	}
	return nil
}

func (p Policy) accepts(name string) bool {
	return p.Mode == Ignore && !p.forbids(name) || slices.Contains(p.Accept, name)
}

func (p Policy) forbids(name string) bool { return slices.Contains(p.Forbid, name) }

// cost returns the cost of an update with these risks.
func (p Policy) cost(risks []graph.Risk) Cost {
	c := Cost{Hops: 1}
	for _, r := range risks {
		switch {
		case p.forbids(r.Name):
			c.Forbidden++
		case p.accepts(r.Name):
		case r.Always():
			c.Always++
		default:
			c.PromQL++
		}
	}
	return c
}

// allows reports whether a path of that cost may be taken.
func (p Policy) allows(c Cost) bool {
	return c.Skips == 0 && c.Forbidden == 0 && (c.Always == 0 || p.AllowAlways)
}

// Names returns the names of all risks of a graph, sorted.
func Names(g *graph.Graph) []string {
	seen, names := map[int32]bool{}, map[string]bool{} // thousands of updates share a group
	for i := range g.Nodes {
		for _, e := range g.From(i) {
			if seen[e.Group] {
				continue
			}
			seen[e.Group] = true
			for _, r := range g.Risks(e) {
				names[r.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Unknown returns the names in a policy that no risk of the graph has, sorted. A risk that has left
// the graph does no harm; a misspelled one does.
func Unknown(g *graph.Graph, p Policy) []string {
	known := Names(g)
	unknown := slices.DeleteFunc(slices.Concat(p.Accept, p.Forbid), func(name string) bool {
		_, ok := slices.BinarySearch(known, name)
		return ok
	})
	slices.Sort(unknown)
	return slices.Compact(unknown)
}
