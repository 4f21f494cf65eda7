package filter

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// everything keeps all channels unchanged.
func (s *selection) everything() {
	for _, ch := range s.pkg.Channels {
		w := s.draft(requestedChannel{Channel: ch})
		for i := range w.requested {
			w.requested[i].Reason = Full
		}
		selected, reasons := w.selected()
		w.record(subset{keep: selected}, reasons)
		s.kept = append(s.kept, w.result())
	}
	s.noteStranded()
}

// noteStranded notes each installed operator that does not reach a kept head, with a remedy.
func (s *selection) noteStranded() {
	for _, from := range s.starts {
		if ch := s.pkg.Channel(from.Channel); from.Channel != "" && ch == nil {
			s.noteUnreachable(from, "its channel %q is no longer in the catalog; switch to another: %s", from.Channel, list(channelNames(s.pkg.Channels)))
			continue
		}
		followed := elements.Filter(s.drafts, func(w *draft) bool { return from.follows(w.Name) && w.head != "" })
		if len(followed) == 0 && from.Channel == "" {
			continue // channels without a head, in an unfiltered catalog
		}
		if len(followed) == 0 {
			s.noteUnreachable(from, "its channel %q is not kept; add it to channels", from.Channel)
			continue
		}
		var stuck []graph.Generation
		for _, gen := range generations {
			reaches := false
			for _, w := range followed {
				reaches = reaches || s.view(gen, w.filtered).reaches(from, w.head)
			}
			if !reaches {
				stuck = append(stuck, gen)
			}
		}
		switch {
		case len(stuck) == len(generations):
			s.noteUnreachable(from, "%s", s.why(from, followed))
		case len(stuck) == 1:
			s.noteStopped(from, stuck[0], followed)
		}
	}
}

func (s *selection) noteUnreachable(from start, format string, args ...any) {
	s.note("%s is installed but has no update path to a kept head: %s", from.label, fmt.Sprintf(format, args...))
}

// why returns what keeps an operator from every head of these channels, and the remedy.
func (s *selection) why(from start, followed []*draft) string {
	var heads []string
	newer := from.versioned
	for _, w := range followed {
		heads = append(heads, fmt.Sprintf("%s of channel %q", w.head, w.Name))
		v, known := s.versions[w.head]
		newer = newer && known && from.at.Version.GT(v)
	}
	to := "no update leads to " + list(heads)
	if newer {
		return "it is newer than " + list(heads) + "; use a newer catalog or a higher maxVersion"
	}
	var others []string
	for _, ch := range s.pkg.Channels {
		heads := graph.Inspect(ch.Entries).Heads
		if len(heads) == 1 && s.view(graph.Classic, ch).reaches(from, heads[0]) {
			others = append(others, ch.Name)
		}
	}
	switch {
	case len(others) > 0:
		return to + "; the catalog has an update path in " + quoted(others)
	case !from.versioned:
		return to + " for this name, and the installed version is unknown; add the version"
	default:
		return to + " in the catalog; update the cluster with an older catalog first, or reinstall the operator"
	}
}

// noteStopped notes that only one generation of OLM updates an operator automatically.
func (s *selection) noteStopped(from start, gen graph.Generation, followed []*draft) {
	for _, w := range followed {
		v := s.view(gen, w.filtered)
		end := from.label
		at := from.at
		if walk := v.walk(from); len(walk) > 0 {
			end = walk[len(walk)-1].To
			at = graph.Running(s.pkg.Bundle(end))
		}
		if gen == graph.V1 {
			if hops, ok := v.Reachable(at, w.head, graph.AnyPath); ok && len(hops) > 0 {
				s.note("%s is installed: %s stops at %s before it reaches %s; set the version of its ClusterExtension to %s and continue from there",
					from.label, gen, end, w.head, s.versions[hops[0].To])
				return
			}
		}
	}
	s.note("%s is installed: %s has no update path from it to the head of %s", from.label, gen, quoted(channelsOf(followed)))
}

func channelsOf(drafts []*draft) []string {
	channels := elements.Map(drafts, func(w *draft) *catalog.Channel { return w.Channel })
	return channelNames(channels)
}

// quoted returns `channel "a" or channel "b"`.
func quoted(channels []string) string {
	words := elements.Map(channels, func(name string) string { return fmt.Sprintf("channel %q", name) })
	return strings.Join(words, " or ")
}
