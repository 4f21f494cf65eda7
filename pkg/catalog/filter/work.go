package filter

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A work is a channel while it is decided what is kept of it. Places are those of
// entries in the original.
type work struct {
	wantedChannel
	// asked has the entries that were asked for, with the reason; the others
	// have none. exact says that nothing else is wanted.
	asked   []Entry
	exact   bool
	brought bool // by dependencies alone

	// entries are what is left to decide on, which is everything at first, with
	// the skips that were added so far; place has the place of each.
	entries []catalog.Entry
	place   []int
	skips   map[int][]string
	// also are entries to keep beyond those asked for, found on the way.
	also map[int]Entry

	// What was decided last, and whether it stands.
	cut     cut
	settled bool
	kept    []Entry // by place; those that go have no reason
	keeps   *catalog.Channel
	head    string // "" where there is no single one
}

// work begins with a channel.
func (s *selection) work(ch wantedChannel) *work {
	w := &work{
		wantedChannel: ch, asked: make([]Entry, len(ch.Entries)),
	}
	for i, e := range ch.Entries {
		w.asked[i].Name = e.Name
	}
	w.reset()
	s.works = append(s.works, w)
	return w
}

// reset leaves everything to decide on.
func (w *work) reset() {
	w.entries, w.place = w.Entries, make([]int, len(w.Entries))
	for i := range w.place {
		w.place[i] = i
	}
	w.skips, w.also = map[int][]string{}, map[int]Entry{}
}

// selected are the entries that must be kept, of those left, each with its
// reason.
func (w *work) selected() ([]bool, []Entry) {
	selected, reasons := make([]bool, len(w.entries)), make([]Entry, len(w.entries))
	for i, at := range w.place {
		reasons[i] = w.asked[at]
		if also, ok := w.also[at]; ok && reasons[i].Reason == "" {
			reasons[i] = also
		}
		selected[i] = reasons[i].Reason != ""
	}
	return selected, reasons
}

// plain reports whether one entry is asked for and nothing else, or all are, so
// that there is nothing to make whole.
func (w *work) plain() bool {
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

// shrink leaves what was decided as all there is to decide on. It reports
// whether that is less than before.
func (w *work) shrink() bool {
	if len(w.keeps.Entries) == len(w.entries) && len(w.cut.skips) == 0 {
		return false
	}
	var place []int
	for i, keep := range w.cut.keep {
		if keep {
			place = append(place, w.place[i])
		}
	}
	for x, ys := range w.cut.skips {
		for _, y := range ys {
			w.skips[w.place[x]] = append(w.skips[w.place[x]], w.entries[y].Name)
		}
	}
	w.entries, w.place = w.keeps.Entries, place
	return true
}

// result is the channel as it was decided.
func (w *work) result() keptChannel {
	k := keptChannel{Channel: w.Channel, keep: make([]bool, len(w.Entries)), skips: w.skips, head: w.head, brought: w.brought}
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
