package planpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/asked"
	"github.com/gantry-mirror/gantry/pkg/progress"
)

// releases shows the platform releases with their images.
func (b *builder) releases() page.Section {
	if len(b.Plan.Releases) == 0 {
		return page.Section{}
	}
	s := page.Section{ID: Releases, Title: "Releases"}
	if g := b.Plan.GraphData; g != nil {
		s.Lead = fmt.Sprintf("Graph data for an update service: %s becomes %s:%s.", g.Source, g.Repository, g.Tag)
	}
	images := b.images
	t := page.Table{Caption: "Releases", Columns: Columns("Release", "Selected for", "Signature", "#Images", "#Needs", "Asked for by")}
	for i := range b.Plan.Releases {
		r := &b.Plan.Releases[i]
		key, lines := "release "+r.Name(), b.find.Release(r)
		signed := page.Cell{Tags: []page.Tag{{Text: "verified", Look: page.Good}}}
		if r.Unverified {
			signed.Tags[0] = page.Tag{Text: "not verified", Look: page.Warn}
		}
		why := elements.Map(r.Reasons, func(x plan.ReleaseReason) string { return strings.TrimPrefix(x.Channel+": "+x.Reason, ": ") })
		size := b.sizes[key]
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: r.Name(), Link: releaseID(i), Note: r.URL}, {Text: strings.Join(why, "; ")}, signed, Count(size.Images), Bytes(size.Bytes), askedBy("the plan", lines...)}})
		item := page.Item{ID: releaseID(i), Title: r.Name(), Note: fmt.Sprintf("%s, %s", env.Number(size.Images, "image", "images"), progress.Bytes(size.Bytes)), Lines: lines}
		item.Tables = append(item.Tables, b.imageTable("Images of release "+r.Name(), images[key], func(why plan.Reason) string {
			if why.Release != r.Name() {
				return ""
			}
			return why.Name
		}))
		s.Items = append(s.Items, item)
	}
	s.Tables = []page.Table{t}
	return s
}

// The kinds of updates in a drawing, and its marks.
const (
	recommended = "recommended"
	conditional = "with risks"
	start       = "start"
	target      = "target"
)

// updates shows the paths between releases: hops, risks, and what to acknowledge.
func (b *builder) updates() page.Section {
	s := page.Section{ID: Updates, Title: "Updates"}
	risks := page.Table{Caption: "Risks of these updates", Columns: Columns("Risk", "Applies to", "Explanation")}
	var known []string
	for i := range b.Plan.Updates {
		u := &b.Plan.Updates[i]
		item := page.Item{ID: fmt.Sprintf("update-%d", i+1), Title: fmt.Sprintf("%s to %s", u.From, u.To), Note: fmt.Sprintf("%s, channel %s, %s", env.Number(len(u.Hops), "update", "updates"), u.Channel, u.Arch), Lines: asked.Append(nil, b.find.Channel(u))}
		t := page.Table{Caption: "Updates in order", Columns: Columns("From", "To", "Risks", "To acknowledge", "Blocked by")}
		for _, h := range u.Hops {
			row := page.Row{Cells: []page.Cell{{Text: h.From}, {Text: h.To}, {}, {}, {}}}
			if h.NextMinor() {
				row.Cells[1].Note = "the next minor version"
			}
			for _, r := range h.Risks {
				tag := page.Tag{Text: r.Name, Look: page.Warn}
				if r.Accepted {
					tag = page.Tag{Text: r.Name + ", accepted", Look: page.Plain}
				}
				row.Cells[2].Tags = append(row.Cells[2].Tags, tag)
				if !slices.Contains(known, r.Name+r.Message) {
					known = append(known, r.Name+r.Message)
					risks.Rows = append(risks.Rows, riskRow(r))
				}
			}
			var acks, blockers []string
			for _, a := range h.Acks {
				acks = append(acks, a.Name+": "+a.Message)
			}
			for _, x := range h.Blockers {
				blockers = append(blockers, fmt.Sprintf("%s (%s supports up to %s)", x.Package, x.Bundle, x.Max))
			}
			row.Cells[3].Text, row.Cells[4].Text = strings.Join(acks, "; "), strings.Join(blockers, "; ")
			t.Rows = append(t.Rows, row)
		}
		if len(u.Hops) > 0 {
			item.Tables, item.Drawings = []page.Table{t}, []diagram.Drawing{drawPath(u)}
		} else {
			item.NotDrawn = "There is nothing to update."
		}
		s.Items = append(s.Items, item)
	}
	if len(risks.Rows) > 0 {
		s.Tables = append(s.Tables, risks)
	}
	return s
}

func riskRow(r plan.Risk) page.Row {
	applies := page.Cell{Text: "every cluster"}
	if !r.Always() {
		applies.Text = "clusters that match a query"
		for _, rule := range r.Rules {
			applies.Note += rule.PromQL
		}
	}
	return page.Row{Cells: []page.Cell{{Text: r.Name}, applies, {Text: r.Message, Note: r.URL}}}
}

// drawPath draws an update path.
func drawPath(u *plan.UpdatePath) diagram.Drawing {
	g := diagram.Graph{Title: u.Channel, Nodes: []diagram.Node{{ID: u.From, Label: u.From, Marks: []string{start}}}}
	for _, h := range u.Hops {
		kind := recommended
		if len(h.Risks) > 0 {
			kind = conditional
		}
		if !slices.ContainsFunc(g.Nodes, func(n diagram.Node) bool { return n.ID == h.To }) {
			g.Nodes = append(g.Nodes, diagram.Node{ID: h.To, Label: h.To})
		}
		g.Edges = append(g.Edges, diagram.Edge{From: h.From, To: h.To, Kind: kind})
	}
	last := &g.Nodes[len(g.Nodes)-1]
	last.Marks = append(last.Marks, target)
	return diagram.Drawing{
		Title:  fmt.Sprintf("Update path from %s to %s", u.From, u.To),
		Marks:  []diagram.Mark{{Name: start, Look: diagram.Here}, {Name: target, Look: diagram.Strong}},
		Kinds:  []diagram.Kind{{Name: recommended, Line: diagram.Solid}, {Name: conditional, Line: diagram.Dash}},
		Graphs: []diagram.Graph{g},
	}
}
