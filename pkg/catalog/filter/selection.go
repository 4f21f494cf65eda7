package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// A selection is one package of a catalog on its way to what is kept of it.
type selection struct {
	pkg  *catalog.Package
	want imageset.Package
	full bool
	// versions are those of the package's bundles that can be read.
	versions map[string]semver.Version

	kept     []keptChannel // sorted by name
	notes    []string
	problems []Problem
}

// A keptChannel is a channel with the entries that are kept of it.
type keptChannel struct {
	*catalog.Channel
	// entries are those kept, in the order of the original, with their reasons;
	// keep says of each entry of the original whether it is.
	entries            []Entry
	keep               []bool
	skips              map[int][]string // names to add to an entry's skips
	head, originalHead string
}

func newSelection(p *catalog.Package, want imageset.Package, full bool) *selection {
	s := &selection{pkg: p, want: want, full: full, versions: map[string]semver.Version{}}
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
	s.notes = append(s.notes, fmt.Sprintf("package %q: ", s.pkg.Name)+fmt.Sprintf(format, args...))
}

// sentence joins the parts that are not empty with semicolons.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// run decides what is kept of every channel, and which is the default.
func (s *selection) run() {
	of, err := newSpan(s.want.Range)
	if err != nil {
		s.problem(s.want.Pos, fmt.Sprintf("package %q: %v", s.pkg.Name, err))
		return
	}
	channels := s.channels()
	s.pins()
	if len(s.problems) > 0 {
		return
	}
	for _, ch := range channels {
		s.channel(ch, of)
	}
	if len(s.kept) == 0 && len(s.problems) == 0 {
		s.notes = nil
		s.empty(of)
	}
	if len(s.problems) == 0 {
		s.defaultChannel()
	}
}

// A wantedChannel is a channel to take something of, and what the configuration
// says of it; named is nil where it was not named.
type wantedChannel struct {
	*catalog.Channel
	named *imageset.Channel
}

// channels are the channels to look at: the named ones, or else all.
func (s *selection) channels() []wantedChannel {
	var channels []wantedChannel
	for _, ch := range s.pkg.Channels {
		if len(s.want.Channels) == 0 {
			channels = append(channels, wantedChannel{Channel: ch})
		}
		for _, named := range s.want.Channels {
			if named.Name == ch.Name {
				channels = append(channels, wantedChannel{ch, &named})
			}
		}
	}
	for _, named := range s.want.Channels {
		if s.pkg.Channel(named.Name) == nil {
			s.problem(named.Pos, fmt.Sprintf("package %q has no channel %q", s.pkg.Name, named.Name), s.nearestChannel(named.Name))
		}
	}
	return channels
}

// nearestChannel suggests a channel, or lists all where nothing comes near and
// they are few.
func (s *selection) nearestChannel(word string) string {
	names := channelNames(s.pkg.Channels)
	if phrase := suggest.Phrase(word, names); phrase != "" || len(names) == 0 || len(names) > 8 {
		return phrase
	}
	return "it has " + list(names)
}

// pins checks that every pinned bundle stands in a channel.
func (s *selection) pins() {
	var names []string
	for _, ch := range s.pkg.Channels {
		for _, e := range ch.Entries {
			names = append(names, e.Name)
		}
	}
	for _, pin := range s.want.Bundles {
		if !slices.Contains(names, pin.Name) {
			s.problem(pin.Pos, fmt.Sprintf("package %q has no bundle %q", s.pkg.Name, pin.Name), suggest.Phrase(pin.Name, names))
		}
	}
}

// channel decides what is kept of one channel. Pins exclude ranges, and both
// exclude full; a range is the channel's own or the package's.
func (s *selection) channel(ch wantedChannel, within span) {
	ranged := !s.want.Range.IsZero()
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
		s.without(ch, "has no entries")
	case ranged || len(s.want.Bundles) > 0:
		s.cut(ch, within, ranged)
	case s.full:
		s.all(ch.Channel)
	default:
		s.head(ch)
	}
}

// without drops a channel of which nothing is selected.
func (s *selection) without(ch wantedChannel, why string) {
	if ch.named != nil {
		s.problem(ch.named.Pos, fmt.Sprintf("package %q: channel %q %s", s.pkg.Name, ch.Name, why))
		return
	}
	s.note("channel %q is left out: it %s", ch.Name, why)
}

// pos is where the configuration speaks of the channel.
func (s *selection) pos(ch wantedChannel) imageset.Position {
	if ch.named != nil {
		return ch.named.Pos
	}
	return s.want.Pos
}

// all keeps every entry.
func (s *selection) all(ch *catalog.Channel) {
	k := keptChannel{Channel: ch, keep: make([]bool, len(ch.Entries))}
	for i, e := range ch.Entries {
		k.keep[i] = true
		k.entries = append(k.entries, Entry{Name: e.Name, Reason: Full})
	}
	if heads := graph.Inspect(ch.Entries).Heads; len(heads) == 1 {
		k.head, k.originalHead = heads[0], heads[0]
	}
	s.kept = append(s.kept, k)
}

// head keeps the head alone.
func (s *selection) head(ch wantedChannel) {
	heads := graph.Inspect(ch.Entries).Heads
	if len(heads) != 1 {
		s.broken(ch, heads)
		return
	}
	k := keptChannel{
		Channel: ch.Channel, keep: make([]bool, len(ch.Entries)), head: heads[0], originalHead: heads[0],
		entries: []Entry{{Name: heads[0], Reason: Head}},
	}
	for i, e := range ch.Entries {
		k.keep[i] = e.Name == heads[0]
	}
	s.kept = append(s.kept, k)
}

// broken refuses a channel that OLM would not accept as it stands.
func (s *selection) broken(ch wantedChannel, heads []string) {
	why := "its update graph is broken"
	switch len(heads) {
	case 0:
		why = "it has no head"
	case 1:
	default:
		why = "it has more than one head: " + list(heads)
	}
	s.problem(s.pos(ch), fmt.Sprintf("package %q: nothing can be selected of channel %q as the catalog has it", s.pkg.Name, ch.Name),
		why, "name other channels, or use a newer catalog")
}
