package filter

import (
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// run decides what is kept of every channel, and which channel is the default.
func (s *selection) run() error {
	of, err := newSpan(s.request.Range)
	if err != nil {
		s.problem(s.request.Pos, fmt.Sprintf("package %q: %v", s.pkg.Name, err))
		return nil
	}
	channels := s.channels()
	s.checkPins()
	if len(s.problems) > 0 {
		return nil
	}
	for _, ch := range channels {
		s.channel(ch, of)
	}
	if len(s.drafts) == 0 && len(s.problems) == 0 && !s.dependency {
		s.notes = nil
		s.nothingSelected(of)
	}
	if err := s.addDependencies(); err != nil || len(s.problems) > 0 {
		return err
	}
	s.keepInstalled()
	if s.decide(); len(s.problems) > 0 {
		return nil
	}
	s.explainConnections()
	for _, w := range s.drafts {
		s.kept = append(s.kept, w.result())
	}
	for i := range s.kept {
		s.noteExtras(s.drafts[i], s.kept[i])
	}
	s.noteStranded()
	s.defaultChannel()
	return nil
}

// A requestedChannel is a channel to select from. named is its entry in the configuration, nil if
// the configuration does not name it.
type requestedChannel struct {
	*catalog.Channel
	named *imageset.Channel
}

// channels returns the channels to select from: the named ones, or all.
func (s *selection) channels() []requestedChannel {
	var channels []requestedChannel
	if s.dependency {
		return nil
	}
	for _, ch := range s.pkg.Channels {
		if len(s.request.Channels) == 0 {
			channels = append(channels, requestedChannel{Channel: ch})
		}
		for _, named := range s.request.Channels {
			if named.Name == ch.Name {
				channels = append(channels, requestedChannel{ch, &named})
			}
		}
	}
	for _, named := range s.request.Channels {
		if s.pkg.Channel(named.Name) == nil {
			s.problem(named.Pos, fmt.Sprintf("package %q has no channel %q", s.pkg.Name, named.Name), s.nearestChannel(named.Name))
		}
	}
	return channels
}

// nearestChannel suggests a channel. If no name is similar and the package has few channels, it
// lists them all.
func (s *selection) nearestChannel(word string) string {
	names := channelNames(s.pkg.Channels)
	if phrase := suggest.Phrase(word, names); phrase != "" || len(names) == 0 || len(names) > 8 {
		return phrase
	}
	return "it has " + list(names)
}

// checkPins checks that every pinned bundle is in a channel.
func (s *selection) checkPins() {
	var names []string
	for _, ch := range s.pkg.Channels {
		for _, e := range ch.Entries {
			names = append(names, e.Name)
		}
	}
	for _, pin := range s.request.Bundles {
		if !slices.Contains(names, pin.Name) {
			s.problem(pin.Pos, fmt.Sprintf("package %q has no bundle %q", s.pkg.Name, pin.Name), suggest.Phrase(pin.Name, names))
		}
	}
}

// channel selects the entries of one channel. Pins exclude ranges, and both exclude full. The
// channel's own range replaces the package's.
func (s *selection) channel(ch requestedChannel, within span) {
	ranged := !s.request.Range.IsZero()
	if ch.named != nil && !ch.named.Range.IsZero() {
		var err error
		if within, err = newSpan(ch.named.Range); err != nil {
			s.problem(ch.named.Pos, fmt.Sprintf("package %q, channel %q: %v", s.pkg.Name, ch.Name, err))
			return
		}
		ranged = true
	}
	switch {
	case len(ch.Entries) == 0:
		s.dropChannel(ch, "has no entries")
	case ranged || len(s.request.Bundles) > 0:
		s.selectEntries(ch, within, ranged)
	case s.full:
		w := s.draft(ch)
		for i := range w.requested {
			w.requested[i].Reason = Full
		}
	default:
		heads := graph.Inspect(ch.Entries).Heads
		if len(heads) != 1 {
			s.invalidChannel(ch, heads)
			return
		}
		w := s.draft(ch)
		for i, e := range ch.Entries {
			if e.Name == heads[0] {
				w.requested[i].Reason = Head
			}
		}
	}
}
