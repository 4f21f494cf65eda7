package picture_test

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/picture"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// realCatalogs is a directory beside the checkout that development machines have.
const realCatalogs = "../../../../shared/catalogs"

// Every entry and every edge of every channel of real packages is in its graph, each edge once. If
// an entry leads to the head, it also does over the edges that are drawn.
func TestRealPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	if _, err := os.Stat(realCatalogs); err != nil {
		t.Skip("there are no real catalogs beside the checkout")
	}
	c, err := catalog.Read(t.Context(), os.DirFS(realCatalogs), catalog.Options{})
	fail.On(t, err)
	for _, p := range c.Packages {
		t.Run(p.Name, func(t *testing.T) {
			d := draw(t, p, picture.Options{All: true})
			if len(d.Graphs) != len(p.Channels) {
				t.Fatalf("%d graphs for %d channels", len(d.Graphs), len(p.Channels))
			}
			for _, g := range d.Graphs {
				complete(t, p, p.Channel(g.Title), g)
				leadsToHead(t, p.Channel(g.Title), g)
			}
			d = draw(t, p, picture.Options{})
			for _, g := range d.Graphs {
				leadsToHead(t, p.Channel(g.Title), g)
			}
			again := draw(t, p, picture.Options{})
			for _, form := range diagram.Forms() {
				var first, second bytes.Buffer
				for w, d := range map[io.Writer]diagram.Drawing{&first: d, &second: again} {
					fail.On(t, diagram.Write(w, d, diagram.Form(form)))
				}
				if !bytes.Equal(first.Bytes(), second.Bytes()) {
					t.Errorf("%s is not the same twice", form)
				}
			}
		})
	}
}

func complete(t *testing.T, p *catalog.Package, c *catalog.Channel, g diagram.Graph) {
	t.Helper()
	type edge struct{ from, to, kind string }
	node := map[string]string{} // of a name, the ID of its node
	for _, n := range g.Nodes {
		node[n.ID] = n.ID
		for _, name := range n.Names {
			node[name] = n.ID
		}
	}
	edges := map[edge]int{}
	for _, e := range g.Edges {
		edges[edge{e.From, e.To, e.Kind}]++
	}
	want := map[edge]bool{}
	for _, e := range c.Entries {
		if node[e.Name] == "" {
			t.Errorf("%s: %s has no node", c.Name, e.Name)
		}
		if e.Replaces != "" {
			want[edge{node[e.Replaces], e.Name, "replaces"}] = true
		}
		for _, s := range e.Skips {
			want[edge{node[s], e.Name, "skips"}] = true
		}
		within, err := graph.Range(e)
		fail.On(t, err)
		for _, other := range c.Entries {
			if b := p.Bundle(other.Name); other.Name != e.Name && within(b.Version) {
				want[edge{other.Name, e.Name, "skipRange"}] = true
			}
		}
	}
	for e := range want {
		if edges[e] != 1 {
			t.Errorf("%s: %+v is there %d times", c.Name, e, edges[e])
		}
	}
	if len(edges) != len(want) {
		t.Errorf("%s: %d edges, not %d", c.Name, len(edges), len(want))
	}
}

// leadsToHead checks that each entry has a node, and that all nodes lead to the head over what is drawn.
func leadsToHead(t *testing.T, c *catalog.Channel, g diagram.Graph) {
	t.Helper()
	drawn := map[string]bool{}
	for _, n := range g.Nodes {
		for _, name := range append([]string{n.ID}, n.Names...) {
			drawn[name] = true
		}
	}
	for _, e := range c.Entries {
		if !drawn[e.Name] {
			t.Errorf("%s: %s has no node", c.Name, e.Name)
		}
	}
	before := map[string][]string{}
	for _, e := range g.Edges {
		if !e.Folded {
			before[e.To] = append(before[e.To], e.From)
		}
	}
	head := graph.Inspect(c.Entries).Heads[0]
	leads := map[string]bool{head: true}
	for queue := []string{head}; len(queue) > 0; queue = queue[1:] {
		for _, from := range before[queue[0]] {
			if !leads[from] {
				leads[from] = true
				queue = append(queue, from)
			}
		}
	}
	for _, n := range g.Nodes {
		if !leads[n.ID] {
			t.Errorf("%s: nothing that is drawn leads from %s to the head", c.Name, n.ID)
		}
	}
}
