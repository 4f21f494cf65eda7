package filter

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// everything keeps all channels as they are.
func (s *selection) everything() {
	for _, ch := range s.pkg.Channels {
		w := s.work(wantedChannel{Channel: ch})
		for i := range w.asked {
			w.asked[i].Reason = Full
		}
		selected, reasons := w.selected()
		w.decided(cut{keep: selected}, reasons)
		s.kept = append(s.kept, w.result())
	}
	s.strand()
}

// strand notes what is installed and does not get to a head that is kept, with
// what would help.
func (s *selection) strand() {
	for _, from := range s.starts {
		if ch := s.pkg.Channel(from.Channel); from.Channel != "" && ch == nil {
			s.stranded(from, "the channel %q that it follows is not in the catalog any more; have it follow another: %s", from.Channel, list(channelNames(s.pkg.Channels)))
			continue
		}
		var followed []*work
		for _, w := range s.works {
			if from.follows(w.Name) && w.head != "" {
				followed = append(followed, w)
			}
		}
		if len(followed) == 0 && from.Channel == "" {
			continue // channels without a head, of a catalog that is taken as it is
		}
		if len(followed) == 0 {
			s.stranded(from, "the channel %q that it follows is not kept; add it to channels", from.Channel)
			continue
		}
		var stuck []graph.Generation
		for _, gen := range generations {
			gets := false
			for _, w := range followed {
				gets = gets || s.see(gen, w.keeps).gets(from, w.head)
			}
			if !gets {
				stuck = append(stuck, gen)
			}
		}
		switch {
		case len(stuck) == len(generations):
			s.stranded(from, "%s", s.why(from, followed))
		case len(stuck) == 1:
			s.halted(from, stuck[0], followed)
		}
	}
}

func (s *selection) stranded(from start, format string, args ...any) {
	s.note("%s is installed, and gets to no head that is kept: %s", from.label, fmt.Sprintf(format, args...))
}

// why says what keeps an operator from every head of these channels, and what
// would help.
func (s *selection) why(from start, followed []*work) string {
	var heads []string
	newer := from.versioned
	for _, w := range followed {
		heads = append(heads, fmt.Sprintf("%s of channel %q", w.head, w.Name))
		v, known := s.versions[w.head]
		newer = newer && known && from.at.Version.GT(v)
	}
	to := "there is no way from it to " + list(heads)
	if newer {
		return "it is newer than " + list(heads) + "; use a newer catalog or a higher maxVersion"
	}
	var others []string
	for _, ch := range s.pkg.Channels {
		heads := graph.Inspect(ch.Entries).Heads
		if len(heads) == 1 && s.see(graph.Classic, ch).gets(from, heads[0]) {
			others = append(others, ch.Name)
		}
	}
	switch {
	case len(others) > 0:
		return to + "; there is one in " + quoted(others) + " as the catalog has it"
	case !from.versioned:
		return to + " by its name, and its version is not known; give it too"
	default:
		return to + " in the catalog; update the cluster with an older catalog first, or install the operator anew"
	}
}

// halted says that only one generation of OLM leads an operator on by itself.
func (s *selection) halted(from start, gen graph.Generation, followed []*work) {
	for _, w := range followed {
		v := s.see(gen, w.keeps)
		end := from.label
		at := from.at
		if walk := v.walk(from); len(walk) > 0 {
			end = walk[len(walk)-1].To
			at = graph.Running(s.pkg.Bundle(end))
		}
		if gen == graph.V1 {
			if hops, ok := v.Reachable(at, w.head, graph.AnyPath); ok && len(hops) > 0 {
				s.note("%s is installed: %s by itself stays at %s on the way to %s; set the version of its ClusterExtension to %s, and go on from there",
					from.label, gen, end, w.head, s.versions[hops[0].To])
				return
			}
		}
	}
	s.note("%s is installed: %s has no way from it to the head of %s", from.label, gen, quoted(channelsOf(followed)))
}

func channelsOf(works []*work) []string {
	var channels []*catalog.Channel
	for _, w := range works {
		channels = append(channels, w.Channel)
	}
	return channelNames(channels)
}

// quoted is `channel "a" or channel "b"`.
func quoted(channels []string) string {
	var words []string
	for _, name := range channels {
		words = append(words, fmt.Sprintf("channel %q", name))
	}
	return strings.Join(words, " or ")
}
