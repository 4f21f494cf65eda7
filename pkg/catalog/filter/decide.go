package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// decide finds what to keep of every channel: what was asked for, whole, and the
// ways that lead to the heads. What it keeps at first may have been found needed
// on the way to something better, so it decides again on what is left, until that
// is no less. To filter what was filtered therefore changes nothing.
func (s *selection) decide() {
	for again := true; again; {
		again = s.settle()
	}
}

// settle decides once on what is left of the channels, and leaves what it keeps.
// It reports whether to decide again may leave less: not where nothing was kept
// beyond what was asked for.
func (s *selection) settle() bool {
	for again := true; again; again = s.unite() {
		for _, w := range s.works {
			if w.settled {
				continue
			}
			if w.cut = s.cut(w); len(s.problems) > 0 {
				return false
			}
			w.settled = true
		}
	}
	again := false
	for _, w := range s.works {
		less := w.shrink()
		w.settled = !less || len(w.cut.why)+len(w.cut.skips)+len(w.also) == 0
		again = again || !w.settled
		clear(w.also)
	}
	for _, w := range s.works {
		w.settled = w.settled && len(s.starts) == 0 // else one channel depends on others
	}
	return again
}

// cut makes one channel whole, with the ways that its clusters need.
func (s *selection) cut(w *work) cut {
	if w.plain() && !s.starting(w) {
		selected, reasons := w.selected()
		k := cut{keep: selected}
		w.decided(k, reasons)
		return k
	}
	c := newChannel(w.entries, s.versions)
	for {
		selected, reasons := w.selected()
		k, ok := s.whole(w, c, selected)
		if !ok {
			return cut{}
		}
		w.decided(k, reasons)
		if w.head == "" || !s.guide(w, c, k) {
			return k
		}
	}
}

// whole is the channel's whole or exactly, as was asked.
func (s *selection) whole(w *work, c *channel, selected []bool) (cut, bool) {
	if w.plain() {
		return cut{keep: selected}, true
	}
	if w.exact {
		pinned, alone := make([]bool, len(selected)), true
		for i, at := range w.place {
			pinned[i] = w.asked[at].Reason == Pinned
			alone = alone && pinned[i] == selected[i]
		}
		k, ok := c.exactly(pinned)
		if !ok && len(w.entries) == len(w.Entries) {
			s.unwhole(w.wantedChannel, c, pinned, false)
			return cut{}, false
		}
		if alone && ok {
			return k, true
		}
	}
	k, ok := c.whole(selected)
	if !ok {
		s.unwhole(w.wantedChannel, c, selected, true)
	}
	return k, ok
}

// decided remembers what is kept, and why.
func (w *work) decided(k cut, reasons []Entry) {
	w.kept = make([]Entry, len(w.Entries))
	for i, keep := range k.keep {
		if !keep {
			continue
		}
		if y, added := k.why[i]; added {
			reasons[i] = Entry{w.entries[i].Name, Continuity, w.entries[y].Name}
			// What it takes to keep an installed bundle is its way to the head.
			for next, more := k.why[y]; more; next, more = k.why[y] {
				y = next
			}
			if reasons[y].Reason == Installed {
				reasons[i].Reason, reasons[i].For = Installed, reasons[y].For
			}
		}
		w.kept[w.place[i]] = reasons[i]
	}
	w.keeps, w.head = &catalog.Channel{Name: w.Name, Entries: w.entries}, ""
	if slices.Contains(k.keep, false) || len(k.skips) > 0 {
		w.keeps.Entries = induced(w.entries, k.keep, k.skips)
	}
	if heads := graph.Inspect(w.keeps.Entries).Heads; len(heads) == 1 {
		w.head = heads[0]
	}
}
