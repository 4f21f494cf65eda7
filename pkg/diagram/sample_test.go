package diagram_test

import "github.com/gantry-mirror/gantry/pkg/diagram"

// sample uses every look, line and kind of text once.
func sample() diagram.Drawing {
	return diagram.Drawing{
		Title: "etcd & friends",
		Notes: []string{"7 bundles in 2 channels."},
		Marks: []diagram.Mark{
			{Name: "default", About: "the channel where none is named", Look: diagram.Badge},
			{Name: "head", About: "what is new", Look: diagram.Strong},
			{Name: "installed", About: "what runs", Look: diagram.Here},
			{Name: "kept", About: "taken along", Look: diagram.Chosen},
			{Name: "pruned", About: "left behind", Look: diagram.Faded},
			{Name: "skipped", About: "passed over", Look: diagram.Dashed},
			{Name: "deprecated", About: "advised against", Look: diagram.Notice},
			{Name: "shared", About: "elsewhere, too", Look: diagram.Stacked},
			{Name: "absent", About: "not here", Look: diagram.Absent},
			{Name: "silent", About: "said in words only"},
			{Name: "unused", About: "never seen", Look: diagram.Notice},
		},
		Kinds: []diagram.Kind{
			{Name: "replaces", About: "the chain", Line: diagram.Solid},
			{Name: "skips", About: "past others", Line: diagram.Dash},
			{Name: "skipRange", About: "from every version in it", Line: diagram.Dots},
			{Name: "unseen", About: "of folded edges only", Line: diagram.Dots},
		},
		Graphs: []diagram.Graph{
			{
				Title: "stable", Notes: []string{"6 bundles"}, Marks: []string{"default"},
				Nodes: []diagram.Node{
					{ID: "etcd.v0.1.0 and 9 more", Label: "10 bundles", Detail: "etcd.v0.1.0 and others", Marks: []string{"absent"}, Names: []string{"etcd.v0.1.0", "etcd.v0.1.1"}},
					{ID: "etcd.v1.0.0", Label: "1.0.0", Detail: "etcd.v1.0.0", Marks: []string{"pruned", "silent"}},
					{ID: "etcd.v1.0.1", Label: "1.0.1", Detail: "etcd.v1.0.1", Marks: []string{"installed", "pruned"}},
					{ID: "etcd.v1.1.0", Label: "1.1.0", Detail: "etcd.v1.1.0", Marks: []string{"pruned", "skipped", "deprecated"}, Facts: []diagram.Fact{{Name: "deprecated", Value: "broken <badly>"}}},
					{ID: "etcd.v1.2.0", Label: "1.2.0", Detail: "etcd.v1.2.0", Note: "directly from 1 more", Marks: []string{"kept", "head", "shared"}},
				},
				Edges: []diagram.Edge{
					{From: "etcd.v1.0.0", To: "etcd.v1.0.1", Kind: "replaces", Marks: []string{"pruned"}},
					{From: "etcd.v1.0.1", To: "etcd.v1.1.0", Kind: "replaces", Marks: []string{"pruned"}},
					{From: "etcd.v1.0.1", To: "etcd.v1.2.0", Kind: "replaces", Marks: []string{"kept"}},
					{From: "etcd.v1.1.0", To: "etcd.v1.2.0", Kind: "skips", Marks: []string{"kept"}},
					{From: "etcd.v0.1.0 and 9 more", To: "etcd.v1.2.0", Kind: "skipRange", Label: ">=0.1.0 <1.2.0", Facts: []diagram.Fact{{Name: "why", Value: "it holds them"}}},
					{From: "etcd.v1.0.0", To: "etcd.v1.2.0", Kind: "unseen", Folded: true},
				},
			},
			{Title: "alpha", Nodes: []diagram.Node{{ID: "etcd.v2.0.0", Label: "2.0.0", Marks: []string{"head"}}}},
		},
	}
}

// few is a drawing of two nodes.
func few() diagram.Drawing {
	d := sample()
	d.Marks, d.Kinds, d.Notes = d.Marks[:1], d.Kinds[:1], nil
	d.Graphs = []diagram.Graph{{
		Title: "stable", Nodes: []diagram.Node{{ID: "a", Names: []string{"b"}, Facts: []diagram.Fact{{Name: "c", Value: "d"}}}, {ID: "e", Marks: []string{"default"}}},
		Edges: []diagram.Edge{{From: "a", To: "e", Kind: d.Kinds[0].Name}},
	}}
	return d
}

func dressedIn(d diagram.Drawing, text string) diagram.Drawing {
	dress := func(s *string) { *s += text }
	all := func(list []string) {
		for i := range list {
			dress(&list[i])
		}
	}
	facts := func(list []diagram.Fact) {
		for i := range list {
			dress(&list[i].Name)
			dress(&list[i].Value)
		}
	}
	d.Title = text
	all(d.Notes)
	for i := range d.Marks {
		dress(&d.Marks[i].Name)
		dress(&d.Marks[i].About)
	}
	for i := range d.Kinds {
		dress(&d.Kinds[i].Name)
		dress(&d.Kinds[i].About)
	}
	for i := range d.Graphs {
		g := &d.Graphs[i]
		g.Title = text
		all(g.Notes)
		all(g.Marks)
		for j := range g.Nodes {
			n := &g.Nodes[j]
			dress(&n.ID)
			n.Label, n.Detail, n.Note = text, text, text
			all(n.Marks)
			all(n.Names)
			facts(n.Facts)
		}
		for j := range g.Edges {
			e := &g.Edges[j]
			dress(&e.From)
			dress(&e.To)
			dress(&e.Kind)
			e.Label = text
			all(e.Marks)
			facts(e.Facts)
		}
	}
	return d
}
