package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A selection is the state of filtering one package.
type selection struct {
	pkg     *catalog.Package
	request imageset.Package
	full    bool
	// dependency is set if the package is not selected, but required by others.
	dependency bool
	required   []Required
	starts     []start // the installed operators of the package
	// versions are the readable versions by bundle.
	versions map[string]semver.Version

	drafts   []*draft      // sorted by name
	kept     []keptChannel // sorted by name
	notes    []note
	problems []Problem
}

// A note is a sentence for the summary. Notes on channels come first, by channel name.
type note struct{ channel, text string }

// A keptChannel is a channel with its kept entries.
type keptChannel struct {
	*catalog.Channel
	// entries are the kept ones with their reasons, in the original order; keep reports for each
	// original entry whether it is kept.
	entries            []Entry
	keep               []bool
	skips              map[int][]string // names to add to an entry's skips
	head, originalHead string
	dependency         bool // only required by others
}

func newSelection(p *catalog.Package, request imageset.Package, full bool) *selection {
	s := &selection{pkg: p, request: request, full: full, versions: map[string]semver.Version{}}
	for _, b := range p.Bundles {
		if _, again := s.versions[b.Name]; b.VersionErr == nil && !again {
			s.versions[b.Name] = b.Version
		}
	}
	return s
}

func (s *selection) problem(pos imageset.Position, parts ...string) {
	s.problems = append(s.problems, Problem{pos, sentence(parts...)})
}

func (s *selection) note(format string, args ...any) {
	s.notes = append(s.notes, note{text: fmt.Sprintf("package %q: ", s.pkg.Name) + fmt.Sprintf(format, args...)})
}

// noteOn adds a note on a channel. The text continues after the channel's name.
func (s *selection) noteOn(channel, format string, args ...any) {
	s.notes = append(s.notes, note{channel, fmt.Sprintf("package %q: channel %q", s.pkg.Name, channel) + fmt.Sprintf(format, args...)})
}

// sentences returns the notes in order.
func (s *selection) sentences() []string {
	slices.SortStableFunc(s.notes, func(a, b note) int {
		if (a.channel == "") != (b.channel == "") {
			return strings.Compare(b.channel, a.channel)
		}
		return strings.Compare(a.channel, b.channel)
	})
	var all []string
	for _, n := range s.notes {
		all = append(all, n.text)
	}
	return all
}

// sentence joins the non-empty parts with semicolons.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

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

// dropChannel drops a channel without selected entries. It is an error if the configuration names
// the channel.
func (s *selection) dropChannel(ch requestedChannel, why string) {
	if ch.named != nil {
		s.problem(ch.named.Pos, fmt.Sprintf("package %q: channel %q %s", s.pkg.Name, ch.Name, why))
		return
	}
	s.noteOn(ch.Name, " is left out: it %s", why)
}

// pos returns the position of the channel, or else of the package, in the configuration.
func (s *selection) pos(ch requestedChannel) imageset.Position {
	if ch.named != nil {
		return ch.named.Pos
	}
	return s.request.Pos
}

// invalidChannel adds a problem: OLM does not accept the channel of the original catalog.
func (s *selection) invalidChannel(ch requestedChannel, heads []string) {
	why := "its update graph is broken"
	switch len(heads) {
	case 0:
		why = "it has no head"
	case 1:
	default:
		why = "it has more than one head: " + list(heads)
	}
	s.problem(s.pos(ch), fmt.Sprintf("package %q: channel %q is invalid in the catalog", s.pkg.Name, ch.Name),
		why, "select other channels or use a newer catalog")
}
