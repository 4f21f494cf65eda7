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

// selectEntries selects the entries in the range, or exactly the pinned ones.
func (s *selection) selectEntries(ch requestedChannel, within span, ranged bool) {
	requested := make([]Entry, len(ch.Entries))
	var some bool
	var unreadable []string
	for i, e := range ch.Entries {
		v, known := s.versions[e.Name]
		switch {
		case slices.ContainsFunc(s.request.Bundles, func(pin imageset.Bundle) bool { return pin.Name == e.Name }):
			requested[i].Reason = Pinned
		case ranged && !known:
			unreadable = append(unreadable, e.Name)
		case ranged && within.has(v):
			requested[i].Reason = Range
		}
		some = some || requested[i].Reason != ""
	}
	if len(unreadable) > 0 {
		s.noteOn(ch.Name, ": the versions of these bundles cannot be read, so no range matches them: %s", list(unreadable))
	}
	switch {
	case some:
		w := s.draft(ch)
		w.exact = !ranged
		for i, a := range requested {
			w.requested[i].Reason = a.Reason
		}
	case ranged:
		s.dropChannel(ch, "has no version "+within.String()+within.nearest(s.versionsOf(ch.Entries)))
	default:
		s.dropChannel(ch, "has none of the pinned bundles")
	}
}

// invalidPins adds a problem: pins that form no valid channel, with the bundles to add, or an
// original channel that is invalid.
func (s *selection) invalidPins(ch requestedChannel, c *channel, selected []bool, ranged bool) {
	repaired, ok := c.complete(selected)
	if ok {
		_, ok = c.exactly(repaired.keep) // may fail in a cycle
	}
	if ranged || !ok {
		s.invalidChannel(ch, graph.Inspect(ch.Entries).Heads)
		return
	}
	var pinned, missing []string
	for i, e := range ch.Entries {
		switch {
		case selected[i]:
			pinned = append(pinned, e.Name)
		case repaired.keep[i]:
			missing = append(missing, e.Name)
		}
	}
	pos := s.pos(ch)
	for _, pin := range s.request.Bundles {
		if slices.Contains(pinned, pin.Name) {
			pos = pin.Pos
			break
		}
	}
	s.problem(pos, fmt.Sprintf("package %q: the pinned bundles %s alone do not form a valid channel %q", s.pkg.Name, list(pinned), ch.Name),
		fmt.Sprintf("also pin %s, or select a range of versions", strings.Join(missing, ", ")))
}

// noteExtras notes what is kept beyond what was selected.
func (s *selection) noteExtras(w *draft, k keptChannel) {
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
		s.noteOn(k.Name, ": kept in addition to the selection so that no update path breaks: %s", list(names))
	}
	if names := extra[Installed]; len(names) > 0 {
		s.noteOn(k.Name, ": kept for installed operators: %s", list(names))
	}
	for _, e := range k.entries {
		switch {
		case e.Name != k.head || w.dependency:
		case e.Reason == Installed:
			s.noteOn(k.Name, ": its head %s is not selected; it is kept for the installed %s", k.head, e.For)
		case e.Reason == Dependency:
			s.noteOn(k.Name, ": its head %s is not selected; %s needs it", k.head, e.For)
		}
	}
	for _, x := range slices.Sorted(maps.Keys(k.skips)) {
		s.noteOn(k.Name, ": %s now skips %s, which its skipRange already covers", k.Channel.Entries[x].Name, list(k.skips[x]))
	}
	if k.originalHead != "" && k.head != k.originalHead && !w.dependency {
		s.noteOn(k.Name, ": its new head %s is below the original head %s; clusters above the new head get no updates from this channel", k.head, k.originalHead)
	}
}

// versionsOf returns the readable versions of the entries.
func (s *selection) versionsOf(entries []catalog.Entry) []semver.Version {
	var versions []semver.Version
	for _, e := range entries {
		if v, known := s.versions[e.Name]; known {
			versions = append(versions, v)
		}
	}
	return versions
}

// nothingSelected adds a problem: the package would have no channels.
func (s *selection) nothingSelected(within span) {
	if s.request.Range.IsZero() {
		s.problem(s.request.Pos, fmt.Sprintf("package %q: nothing is selected", s.pkg.Name))
		return
	}
	var all []semver.Version
	for _, ch := range s.pkg.Channels {
		all = append(all, s.versionsOf(ch.Entries)...)
	}
	s.problem(s.request.Pos, fmt.Sprintf("package %q has no version %s%s", s.pkg.Name, within, within.nearest(all)))
}
