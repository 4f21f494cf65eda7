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
	// brought says that nobody selected the package, and that it is here only
	// since others need it.
	brought  bool
	required []Required
	starts   []start // what is installed of it
	// versions are those of the package's bundles that can be read.
	versions map[string]semver.Version

	works    []*work       // sorted by name
	kept     []keptChannel // sorted by name
	notes    []note
	problems []Problem
}

// A note is a sentence for the summary. Those on channels come first, by name.
type note struct{ channel, text string }

// A keptChannel is a channel with the entries that are kept of it.
type keptChannel struct {
	*catalog.Channel
	// entries are those kept, in the order of the original, with their reasons;
	// keep says of each entry of the original whether it is.
	entries            []Entry
	keep               []bool
	skips              map[int][]string // names to add to an entry's skips
	head, originalHead string
	brought            bool // by dependencies alone
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
	s.notes = append(s.notes, note{text: fmt.Sprintf("package %q: ", s.pkg.Name) + fmt.Sprintf(format, args...)})
}

// noteOn is a note that goes on after the name of a channel.
func (s *selection) noteOn(channel, format string, args ...any) {
	s.notes = append(s.notes, note{channel, fmt.Sprintf("package %q: channel %q", s.pkg.Name, channel) + fmt.Sprintf(format, args...)})
}

// sentences are the notes in order.
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

// sentence joins the parts that are not empty with semicolons.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// run decides what is kept of every channel, and which is the default.
func (s *selection) run() error {
	of, err := newSpan(s.want.Range)
	if err != nil {
		s.problem(s.want.Pos, fmt.Sprintf("package %q: %v", s.pkg.Name, err))
		return nil
	}
	channels := s.channels()
	s.pins()
	if len(s.problems) > 0 {
		return nil
	}
	for _, ch := range channels {
		s.channel(ch, of)
	}
	if len(s.works) == 0 && len(s.problems) == 0 && !s.brought {
		s.notes = nil
		s.empty(of)
	}
	if err := s.require(); err != nil || len(s.problems) > 0 {
		return err
	}
	s.keepInstalled()
	if s.decide(); len(s.problems) > 0 {
		return nil
	}
	for _, w := range s.works {
		s.kept = append(s.kept, w.result())
	}
	for i := range s.kept {
		s.account(s.works[i], s.kept[i])
	}
	s.strand()
	s.defaultChannel()
	return nil
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
	if s.brought {
		return nil
	}
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
		s.pick(ch, within, ranged)
	case s.full:
		w := s.work(ch)
		for i := range w.asked {
			w.asked[i].Reason = Full
		}
	default:
		heads := graph.Inspect(ch.Entries).Heads
		if len(heads) != 1 {
			s.broken(ch, heads)
			return
		}
		w := s.work(ch)
		for i, e := range ch.Entries {
			if e.Name == heads[0] {
				w.asked[i].Reason = Head
			}
		}
	}
}

// without drops a channel of which nothing is selected.
func (s *selection) without(ch wantedChannel, why string) {
	if ch.named != nil {
		s.problem(ch.named.Pos, fmt.Sprintf("package %q: channel %q %s", s.pkg.Name, ch.Name, why))
		return
	}
	s.noteOn(ch.Name, " is left out: it %s", why)
}

// pos is where the configuration speaks of the channel.
func (s *selection) pos(ch wantedChannel) imageset.Position {
	if ch.named != nil {
		return ch.named.Pos
	}
	return s.want.Pos
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
