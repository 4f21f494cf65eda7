package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// decide computes what to keep of every channel: the selected entries, what completes the channel,
// and the paths to the heads. An entry that was added early may turn out to be unnecessary, so it
// decides again on the reduced channel until nothing more is dropped. This makes filtering
// idempotent.
func (s *selection) decide() {
	for again := true; again; {
		again = s.decideOnce()
	}
}

// decideOnce runs one pass over the reduced channels. It reports whether another pass may drop
// more, which is impossible if nothing was kept beyond the selection.
func (s *selection) decideOnce() bool {
	for again := true; again; again = s.keepAcrossChannels() {
		for _, w := range s.drafts {
			if w.done {
				continue
			}
			if w.subset = s.decideChannel(w); len(s.problems) > 0 {
				return false
			}
			w.done = true
		}
	}
	again := false
	for _, w := range s.drafts {
		less := w.shrink()
		w.done = !less || len(w.subset.why)+len(w.subset.skips)+len(w.extra) == 0
		again = again || !w.done
		clear(w.extra)
	}
	for _, w := range s.drafts {
		w.done = w.done && len(s.starts) == 0 // channels depend on each other
	}
	return again
}

// decideChannel completes one channel and adds the update paths that its clusters need.
func (s *selection) decideChannel(w *draft) subset {
	if w.plain() && !s.hasInstalled(w) {
		selected, reasons := w.selected()
		k := subset{keep: selected}
		w.record(k, reasons)
		return k
	}
	c := newChannel(w.entries, s.versions)
	for {
		selected, reasons := w.selected()
		k, ok := s.complete(w, c, selected)
		if !ok {
			return subset{}
		}
		w.record(k, reasons)
		if w.head == "" || !s.keepPaths(w, c, k) {
			return k
		}
	}
}

// complete calls complete or, for pins, exactly.
func (s *selection) complete(w *draft, c *channel, selected []bool) (subset, bool) {
	if w.plain() {
		return subset{keep: selected}, true
	}
	if w.exact {
		pinned, alone := make([]bool, len(selected)), true
		for i, at := range w.position {
			pinned[i] = w.requested[at].Reason == Pinned
			alone = alone && pinned[i] == selected[i]
		}
		k, ok := c.exactly(pinned)
		if !ok && len(w.entries) == len(w.Entries) {
			s.invalidPins(w.requestedChannel, c, pinned, false)
			return subset{}, false
		}
		if alone && ok {
			return k, true
		}
	}
	k, ok := c.complete(selected)
	if !ok {
		s.invalidPins(w.requestedChannel, c, selected, true)
	}
	return k, ok
}

// record stores what is kept, and why.
func (w *draft) record(k subset, reasons []Entry) {
	w.kept, w.connects = make([]Entry, len(w.Entries)), map[int]string{}
	for i, keep := range k.keep {
		if !keep {
			continue
		}
		if y, added := k.why[i]; added {
			reasons[i] = Entry{w.entries[i].Name, Continuity, w.entries[y].Name}
			for next, more := k.why[y]; more; next, more = k.why[y] {
				y = next
			}
			if reasons[y].Reason == Installed {
				w.connects[w.position[i]] = reasons[y].For
			}
		}
		w.kept[w.position[i]] = reasons[i]
	}
	w.filtered, w.head = &catalog.Channel{Name: w.Name, Entries: w.entries}, ""
	if slices.Contains(k.keep, false) || len(k.skips) > 0 {
		w.filtered.Entries = induced(w.entries, k.keep, k.skips)
	}
	if heads := graph.Inspect(w.filtered.Entries).Heads; len(heads) == 1 {
		w.head = heads[0]
	}
}
