package upgrade

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// edges are the updates and heads of one package, kept for checks of many operators whose update graph
// alone matters. All of the operators accept every version.
type edges struct {
	updates map[edgesKey]*graph.Updates
	heads   map[string]string // of OLM v1, by channels
}

// An edgesKey identifies a view of a package.
type edgesKey struct {
	pkg        *catalog.Package
	generation graph.Generation
	channels   string
}

func newEdges() *edges {
	return &edges{updates: map[edgesKey]*graph.Updates{}, heads: map[string]string{}}
}

// joinChannels returns channels as one text that no other channels have.
func joinChannels(channels []string) string { return strings.Join(channels, "\n") }

// updates returns the updates of a package as a cluster with this view sees them.
func (c pathCheck) updates(p *catalog.Package, view graph.View) *graph.Updates {
	if c.edges == nil {
		return graph.NewUpdates(p, view)
	}
	key := edgesKey{p, view.Generation, joinChannels(view.Channels)}
	u := c.edges.updates[key]
	if u == nil {
		view.Accept = nil
		u = graph.NewUpdates(p, view)
		c.edges.updates[key] = u
	}
	return u
}

// walk returns the updates that OLM makes automatically from the bundle.
func (c pathCheck) walk(p *catalog.Package, at graph.At, view graph.View) []graph.Hop {
	return c.updates(p, view).Walk(at)
}

// reachable returns the hops to a bundle.
func (c pathCheck) reachable(p *catalog.Package, to string, view graph.View, mode graph.Mode) ([]graph.Hop, bool) {
	return c.updates(p, view).Reachable(c.at, to, mode)
}
