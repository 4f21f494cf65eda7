package filter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// pick asks for the entries in the range, or for exactly the pinned ones.
func (s *selection) pick(ch wantedChannel, within span, ranged bool) {
	asked := make([]Entry, len(ch.Entries))
	var some bool
	var unreadable []string
	for i, e := range ch.Entries {
		v, known := s.versions[e.Name]
		switch {
		case slices.ContainsFunc(s.want.Bundles, func(pin imageset.Bundle) bool { return pin.Name == e.Name }):
			asked[i].Reason = Pinned
		case ranged && !known:
			unreadable = append(unreadable, e.Name)
		case ranged && within.has(v):
			asked[i].Reason = Range
		}
		some = some || asked[i].Reason != ""
	}
	if len(unreadable) > 0 {
		s.noteOn(ch.Name, ": no version can be read of %s, so no range takes it", list(unreadable))
	}
	switch {
	case some:
		w := s.work(ch)
		w.exact = !ranged
		for i, a := range asked {
			w.asked[i].Reason = a.Reason
		}
	case ranged:
		s.without(ch, "has no version "+within.String()+within.nearest(s.versionsOf(ch.Entries)))
	default:
		s.without(ch, "has none of the bundles that are pinned")
	}
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

// account notes what was done beyond what was asked for.
func (s *selection) account(w *work, k keptChannel) {
	extra := map[Reason][]string{}
	for _, e := range k.entries {
		switch {
		case e.Reason == Installed && e.Name == e.For:
			extra[Installed] = append(extra[Installed], e.Name)
		case e.Reason == Installed || e.Reason == Continuity:
			extra[e.Reason] = append(extra[e.Reason], fmt.Sprintf("%s (for %s)", e.Name, e.For))
		}
	}
	if names := extra[Continuity]; len(names) > 0 {
		s.noteOn(k.Name, ": kept outside the range so that no update path breaks: %s", list(names))
	}
	if names := extra[Installed]; len(names) > 0 {
		s.noteOn(k.Name, ": kept for what is installed: %s", list(names))
	}
	for _, e := range k.entries {
		switch {
		case e.Name != k.head || w.brought:
		case e.Reason == Installed:
			s.noteOn(k.Name, ": its head is %s, which was not asked for: it is kept for %s, which is installed", k.head, e.For)
		case e.Reason == Dependency:
			s.noteOn(k.Name, ": its head is %s, which was not asked for: %s needs it", k.head, e.For)
		}
	}
	for _, x := range slices.Sorted(maps.Keys(k.skips)) {
		s.noteOn(k.Name, ": %s now skips %s, which its skipRange holds already", k.Channel.Entries[x].Name, list(k.skips[x]))
	}
	if k.originalHead != "" && k.head != k.originalHead && !w.brought {
		s.noteOn(k.Name, ": its new head %s is below the original head %s; clusters that are above it already get no updates from this channel", k.head, k.originalHead)
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
