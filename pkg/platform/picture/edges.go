package picture

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// A link is all updates from the releases of one box to those of another.
type link struct {
	from, to           int // boxes
	plain, conditional int
	risks              []graph.Risk // unique names
}

// links returns the links between different boxes, sorted.
func (s *sketch) links() []*link {
	type key struct{ from, to int }
	found := map[key]*link{}
	var links []*link
	for i := range s.g.Nodes {
		for _, e := range s.g.From(i) {
			k := key{s.boxOf[i], s.boxOf[e.To]}
			if k.from == k.to {
				continue
			}
			l := found[k]
			if l == nil {
				l = &link{from: k.from, to: k.to}
				found[k] = l
				links = append(links, l)
			}
			if e.Group < 0 {
				l.plain++
				continue
			}
			l.conditional++
			for _, r := range s.g.Risks(e) {
				if !slices.ContainsFunc(l.risks, func(o graph.Risk) bool { return o.Name == r.Name }) {
					l.risks = append(l.risks, r)
				}
			}
		}
	}
	elements.Sort(links, func(a, b *link) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return links
}

// edges returns the links that are drawn.
func (s *sketch) edges() []diagram.Edge {
	var edges []diagram.Edge
	for _, l := range s.links() {
		hop := s.hop(l)
		if !hop && s.implied(l) {
			continue
		}
		e := diagram.Edge{From: s.version(s.boxes[l.from].first).String(), To: s.version(s.boxes[l.to].first).String(), Kind: update}
		if l.plain == 0 {
			e.Kind, e.Label = conditional, riskLabel(l.risks)
		} else if l.conditional > 0 {
			e.Facts = append(e.Facts, diagram.Fact{Name: "with risks", Value: fmt.Sprintf("%d of %d updates", l.conditional, l.conditional+l.plain)})
		}
		for _, r := range l.risks {
			e.Facts = append(e.Facts, diagram.Fact{Name: "risk " + r.Name, Value: riskText(r)})
		}
		if len(s.options.Paths) > 0 && !hop {
			e.Marks = []string{beside}
		}
		edges = append(edges, e)
	}
	return edges
}

// hop reports whether a link is an update of the path.
func (s *sketch) hop(l *link) bool {
	to, ok := s.next[s.boxes[l.from].first]
	return ok && s.boxes[l.from].first == s.boxes[l.from].last && s.boxes[l.to].first == to && s.boxes[l.to].last == to
}

// implied reports whether a path over another box implies a link.
func (s *sketch) implied(l *link) bool {
	w := s.all
	if l.plain > 0 {
		w = s.free
	}
	from, to := s.boxes[l.from], s.boxes[l.to]
	for i := from.last + 1; i < to.first; i++ {
		if w.anyLeads(from, box{i, i}) && w.anyLeads(box{i, i}, to) {
			return true
		}
	}
	return false
}

// riskLabel returns the label of an edge with risks: the name of the risk, or their number. Names in a
// row would look like one name.
func riskLabel(risks []graph.Risk) string {
	if len(risks) != 1 {
		return counted(len(risks), "risk")
	}
	return risks[0].Name
}

// riskText returns the tooltip of a risk.
func riskText(r graph.Risk) string {
	text := r.Message
	if r.Always() {
		text += " (It applies to every cluster.)"
	}
	if r.URL != "" {
		text += " " + r.URL
	}
	return text
}

// A reach is the set of releases that each release leads to, over updates to newer versions.
type reach struct {
	to [][]uint64 // for each release, a bit set of the releases that it leads to
}

func recommended(e graph.Edge) bool { return e.Group < 0 }

func anyUpdate(graph.Edge) bool { return true }

// newReach computes the reach over the updates for which count returns true.
func newReach(g *graph.Graph, count func(graph.Edge) bool) *reach {
	w := &reach{make([][]uint64, len(g.Nodes))}
	words := (len(g.Nodes) + 63) / 64
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		set := make([]uint64, words)
		for _, e := range g.From(i) {
			to := int(e.To)
			// Already covered by a nearer release.
			if to <= i || !count(e) || set[to/64]&(1<<(to%64)) != 0 {
				continue
			}
			set[to/64] |= 1 << (to % 64)
			for k, word := range w.to[to] {
				set[k] |= word
			}
		}
		w.to[i] = set
	}
	return w
}

// leads reports whether one release leads to another.
func (w *reach) leads(from, to int) bool { return w.to[from][to/64]&(1<<(to%64)) != 0 }

// anyLeads reports whether a release of one box leads to a release of another.
func (w *reach) anyLeads(from, to box) bool {
	for i := from.first; i <= from.last; i++ {
		for j := to.first; j <= to.last; j++ {
			if w.leads(i, j) {
				return true
			}
		}
	}
	return false
}
