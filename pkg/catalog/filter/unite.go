package filter

import (
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// unite looks at all kept channels at once, as a ClusterExtension without
// channels does, and adds the hops that lead what is installed to the last head
// that OLM v1 would reach by itself in the original. It reports whether any was
// added.
func (s *selection) unite() bool {
	if len(s.works) < 2 || len(s.starts) == 0 {
		return false
	}
	var kept, all []*catalog.Channel
	heads := map[string]bool{}
	for _, w := range s.works {
		all = append(all, &catalog.Channel{Name: w.Name, Entries: w.entries})
		kept = append(kept, w.keeps)
		heads[w.head] = true
	}
	now, before := s.see(graph.V1, kept...), s.see(graph.V1, all...)
	for _, from := range s.starts {
		if from.Channel != "" {
			continue
		}
		hops := before.walk(from)
		for len(hops) > 0 && !heads[hops[len(hops)-1].To] {
			hops = hops[:len(hops)-1]
		}
		if len(hops) == 0 || now.gets(from, hops[len(hops)-1].To) {
			continue
		}
		if s.stops(hops, from) {
			return true
		}
	}
	return false
}

// stops keeps where hops lead, each in the channel that has its edge.
func (s *selection) stops(hops []graph.Hop, from start) bool {
	added := false
	for _, hop := range hops {
		for _, w := range s.works {
			if w.Name != hop.Channel {
				continue
			}
			for i, e := range w.entries {
				if at := w.place[i]; e.Name == hop.To && w.kept[at].Reason == "" {
					w.also[at] = Entry{Name: e.Name, Reason: Installed, For: from.label}
					w.settled, added = false, true
				}
			}
		}
	}
	return added
}
