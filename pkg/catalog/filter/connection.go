package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// explainConnections gives the reason Installed to entries that complete a channel for an installed
// operator, if they are on one of its update paths. Other entries only keep the channel valid, and
// keep the reason Continuity.
func (s *selection) explainConnections() {
	if !slices.ContainsFunc(s.drafts, func(w *draft) bool { return len(w.connects) > 0 }) {
		return
	}
	joined := elements.Map(s.drafts, func(w *draft) *catalog.Channel { return w.filtered })
	across := s.view(graph.V1, joined...)
	for _, w := range s.drafts {
		if len(w.connects) == 0 {
			continue
		}
		labels := map[string][]string{} // by bundle: the installed operators that pass it
		for _, from := range s.starts {
			if !from.follows(w.Name) {
				continue
			}
			for _, hop := range s.updatesOf(from, w, across) {
				labels[hop.To] = append(labels[hop.To], from.label)
			}
		}
		for at, label := range w.connects {
			passing := labels[w.kept[at].Name]
			if len(passing) == 0 {
				continue
			}
			if !slices.Contains(passing, label) {
				label = passing[0]
			}
			w.kept[at].Reason, w.kept[at].For = Installed, label
		}
	}
}

// updatesOf returns the updates of an installed operator in a channel, in both generations of OLM:
// those that are made automatically and, where they do not lead to the head, those that do if the
// administrator pins versions. OLM v1 may also look into all channels at once (across).
func (s *selection) updatesOf(from start, w *draft, across olmView) []graph.Hop {
	var hops []graph.Hop
	for _, gen := range generations {
		v := s.view(gen, w.filtered)
		walk := v.walk(from)
		hops = append(hops, walk...)
		if from.at.Name != w.head && !passes(walk, w.head) {
			pinned, _ := v.Reachable(from.at, w.head, graph.AnyPath)
			hops = append(hops, pinned...)
		}
	}
	if from.Channel == "" {
		hops = append(hops, across.walk(from)...)
	}
	return hops
}
