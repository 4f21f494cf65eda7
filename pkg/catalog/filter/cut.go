package filter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// cut keeps the entries in the range and what it takes to make them whole, or
// exactly the pinned ones.
func (s *selection) cut(ch wantedChannel, within span, ranged bool) {
	pinned := map[string]bool{}
	for _, pin := range s.want.Bundles {
		pinned[pin.Name] = true
	}
	selected := make([]bool, len(ch.Entries))
	reasons := make([]Entry, len(ch.Entries))
	var some bool
	var unreadable []string
	for i, e := range ch.Entries {
		v, known := s.versions[e.Name]
		reasons[i].Name = e.Name
		switch {
		case pinned[e.Name]:
			selected[i], reasons[i].Reason = true, Pinned
		case ranged && !known:
			unreadable = append(unreadable, e.Name)
		case ranged && within.has(v):
			selected[i], reasons[i].Reason = true, Range
		}
		some = some || selected[i]
	}
	if len(unreadable) > 0 {
		s.note("channel %q: no version can be read of %s, so no range takes it", ch.Name, list(unreadable))
	}
	if !some {
		if ranged {
			s.without(ch, "has no version "+within.String()+within.nearest(s.versionsOf(ch.Entries)))
		} else {
			s.without(ch, "has none of the bundles that are pinned")
		}
		return
	}

	c := newChannel(ch.Entries, s.versions)
	find := c.whole
	if !ranged {
		find = c.exactly
	}
	kept, ok := find(selected)
	if !ok {
		s.unwhole(ch, c, selected, ranged)
		return
	}
	k := keptChannel{Channel: ch.Channel, keep: kept.keep, skips: map[int][]string{}, head: ch.Entries[kept.head].Name}
	if heads := graph.Inspect(ch.Entries).Heads; len(heads) == 1 {
		k.originalHead = heads[0]
	}
	for i, keep := range kept.keep {
		if !keep {
			continue
		}
		if y, added := kept.why[i]; added {
			reasons[i].Reason, reasons[i].For = Continuity, ch.Entries[y].Name
		}
		k.entries = append(k.entries, reasons[i])
	}
	for x, ys := range kept.skips {
		for _, y := range ys {
			k.skips[x] = append(k.skips[x], ch.Entries[y].Name)
		}
		slices.Sort(k.skips[x])
	}
	s.kept = append(s.kept, k)
	s.account(k)
}

// unwhole says what would mend pins that do not make a channel, or that the
// channel is broken as it is.
func (s *selection) unwhole(ch wantedChannel, c *channel, selected []bool, ranged bool) {
	mended, ok := c.whole(selected)
	if ok {
		_, ok = c.exactly(mended.keep) // where edges run in a circle, it may not be
	}
	if ranged || !ok {
		s.broken(ch, graph.Inspect(ch.Entries).Heads)
		return
	}
	var pinned, missing []string
	for i, e := range ch.Entries {
		switch {
		case selected[i]:
			pinned = append(pinned, e.Name)
		case mended.keep[i]:
			missing = append(missing, e.Name)
		}
	}
	pos := s.pos(ch)
	for _, pin := range s.want.Bundles {
		if slices.Contains(pinned, pin.Name) {
			pos = pin.Pos
			break
		}
	}
	s.problem(pos, fmt.Sprintf("package %q: the pinned bundles %s alone do not make a channel %q that OLM accepts", s.pkg.Name, list(pinned), ch.Name),
		fmt.Sprintf("pin %s as well, or ask for a range of versions instead", strings.Join(missing, ", ")))
}

// account notes what a cut did beyond what was asked for.
func (s *selection) account(k keptChannel) {
	var extra []string
	for _, e := range k.entries {
		if e.Reason == Continuity {
			extra = append(extra, fmt.Sprintf("%s (for %s)", e.Name, e.For))
		}
	}
	if len(extra) > 0 {
		s.note("channel %q: kept outside the range so that no update path breaks: %s", k.Name, list(extra))
	}
	for _, x := range slices.Sorted(maps.Keys(k.skips)) {
		s.note("channel %q: %s now skips %s, which its skipRange holds already", k.Name, k.Channel.Entries[x].Name, list(k.skips[x]))
	}
	if k.originalHead != "" && k.head != k.originalHead {
		s.note("channel %q: its new head %s is below the original head %s; clusters that are above it already get no updates from this channel", k.Name, k.head, k.originalHead)
	}
}

// versionsOf are the versions of the entries.
func (s *selection) versionsOf(entries []catalog.Entry) []semver.Version {
	var versions []semver.Version
	for _, e := range entries {
		if v, known := s.versions[e.Name]; known {
			versions = append(versions, v)
		}
	}
	return versions
}

// empty refuses a package of which nothing is left.
func (s *selection) empty(within span) {
	if s.want.Range.IsZero() {
		s.problem(s.want.Pos, fmt.Sprintf("package %q: nothing is left of it", s.pkg.Name))
		return
	}
	var all []semver.Version
	for _, ch := range s.pkg.Channels {
		all = append(all, s.versionsOf(ch.Entries)...)
	}
	s.problem(s.want.Pos, fmt.Sprintf("package %q has no version %s%s", s.pkg.Name, within, within.nearest(all)))
}
