package filter

import (
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// keepAcrossChannels considers all kept channels together, as a ClusterExtension without channels
// does. It adds the hops that lead an installed operator to the last head that OLM v1 would reach
// automatically in the original, and reports whether it added any.
func (s *selection) keepAcrossChannels() bool {
	if len(s.drafts) < 2 || len(s.starts) == 0 {
		return false
	}
	var kept, all []*catalog.Channel
	heads := map[string]bool{}
	for _, w := range s.drafts {
		all = append(all, &catalog.Channel{Name: w.Name, Entries: w.entries})
		kept = append(kept, w.filtered)
		heads[w.head] = true
	}
	now, before := s.view(graph.V1, kept...), s.view(graph.V1, all...)
	for _, from := range s.starts {
		if from.Channel != "" {
			continue
		}
		hops := before.walk(from)
		for len(hops) > 0 && !heads[hops[len(hops)-1].To] {
			hops = hops[:len(hops)-1]
		}
		if len(hops) == 0 || now.reaches(from, hops[len(hops)-1].To) {
			continue
		}
		if s.keepHopsIn(hops, from) {
			return true
		}
	}
	return false
}

// keepHopsIn keeps the target of each hop in the channel that has its edge.
func (s *selection) keepHopsIn(hops []graph.Hop, from start) bool {
	added := false
	for _, hop := range hops {
		for _, w := range s.drafts {
			if w.Name != hop.Channel {
				continue
			}
			for i, e := range w.entries {
				if at := w.position[i]; e.Name == hop.To && w.kept[at].Reason == "" {
					w.extra[at] = Entry{Name: e.Name, Reason: Installed, For: from.label}
					w.done, added = false, true
				}
			}
		}
	}
	return added
}
