package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A draft is a channel while the filter decides what to keep of it. Positions are those of entries
// in the original.
type draft struct {
	requestedChannel
	// requested has the selected entries with their reasons; the reason of others is "". exact is
	// set if nothing else is wanted.
	requested  []Entry
	exact      bool
	dependency bool // only required by others

	// entries are the ones that are left to decide on, all at first, with the skips added so far;
	// position has the position of each.
	entries  []catalog.Entry
	position []int
	skips    map[int][]string
	// extra are entries to keep beyond the requested ones.
	extra map[int]Entry

	// The last decision, and whether it is final.
	subset subset
	done   bool
	kept   []Entry // by position; dropped entries have no reason
	// connects has the label of an installed operator for each entry, by position, that was added
	// to complete the channel for it.
	connects map[int]string
	filtered *catalog.Channel
	head     string // "" without a single head
}

// draft adds a draft of the channel.
func (s *selection) draft(ch requestedChannel) *draft {
	w := &draft{
		requestedChannel: ch, requested: make([]Entry, len(ch.Entries)),
	}
	for i, e := range ch.Entries {
		w.requested[i].Name = e.Name
	}
	w.reset()
	s.drafts = append(s.drafts, w)
	return w
}

// reset makes all entries undecided.
func (w *draft) reset() {
	w.entries, w.position = w.Entries, make([]int, len(w.Entries))
	for i := range w.position {
		w.position[i] = i
	}
	w.skips, w.extra = map[int][]string{}, map[int]Entry{}
}

// selected returns which of the remaining entries must be kept, each with its reason.
func (w *draft) selected() ([]bool, []Entry) {
	selected, reasons := make([]bool, len(w.entries)), make([]Entry, len(w.entries))
	for i, at := range w.position {
		reasons[i] = w.requested[at]
		if extra, ok := w.extra[at]; ok && reasons[i].Reason == "" {
			reasons[i] = extra
		}
		selected[i] = reasons[i].Reason != ""
	}
	return selected, reasons
}

// plain reports whether a single entry, or the whole channel, is requested. Nothing needs to be
// completed then.
func (w *draft) plain() bool {
	selected, reasons := w.selected()
	var count int
	for i, in := range selected {
		if in {
			count++
		}
		if in && reasons[i].Reason != Head && reasons[i].Reason != Full {
			return false
		}
	}
	return count == 1 || count == len(selected)
}

// shrink reduces the draft to what was kept. It reports whether that is less than before.
func (w *draft) shrink() bool {
	if len(w.filtered.Entries) == len(w.entries) && len(w.subset.skips) == 0 {
		return false
	}
	var position []int
	for i, keep := range w.subset.keep {
		if keep {
			position = append(position, w.position[i])
		}
	}
	for x, ys := range w.subset.skips {
		for _, y := range ys {
			w.skips[w.position[x]] = append(w.skips[w.position[x]], w.entries[y].Name)
		}
	}
	w.entries, w.position = w.filtered.Entries, position
	return true
}

// result returns the channel with the kept entries.
func (w *draft) result() keptChannel {
	k := keptChannel{Channel: w.Channel, keep: make([]bool, len(w.Entries)), skips: w.skips, head: w.head, dependency: w.dependency}
	if heads := graph.Inspect(w.Entries).Heads; len(heads) == 1 {
		k.originalHead = heads[0]
	}
	for i, e := range w.kept {
		if e.Reason != "" {
			k.keep[i] = true
			k.entries = append(k.entries, e)
		}
	}
	for x := range k.skips {
		slices.Sort(k.skips[x])
	}
	return k
}
