package picture

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
)

// Development machines have graphs of real channels in a directory beside the checkout.
const realGraphs = "../../../../shared/graphs/*/*.json"

// TestRealGraphs checks that the picture of a real channel is correct and small enough to read.
func TestRealGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	files, err := filepath.Glob(realGraphs)
	if err != nil || len(files) == 0 {
		t.Skip("there are no real graphs beside the checkout")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			g, err := graph.Read(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Title: t.Name()}
			checkDrawing(t, g, o)
			if d := Draw(g, o); len(d.Graphs[0].Nodes) > unfolded || len(d.Graphs[0].Edges) > 2*unfolded {
				t.Errorf("%d boxes and %d lines are too many", len(d.Graphs[0].Nodes), len(d.Graphs[0].Edges))
			}
			for _, form := range diagram.Forms() {
				var first, second bytes.Buffer
				for _, out := range []*bytes.Buffer{&first, &second} {
					if err := diagram.Write(out, Draw(g, o), diagram.Form(form)); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(first.Bytes(), second.Bytes()) {
					t.Errorf("%s is not the same twice", form)
				}
			}
		})
	}
}

// TestRealPath checks the picture of the complete path of an EUS update that cannot avoid risks.
func TestRealPath(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	text, err := os.ReadFile("../../../../shared/graphs/derived/amd64-eus-4.20.json")
	if err != nil {
		t.Skip("there are no real graphs beside the checkout")
	}
	g, err := graph.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p := found(t, g, "4.18.20", "4.20.5")
	part := Part(g, p[0].Nodes[:1], p[0].Nodes[len(p[0].Nodes)-1])
	o := Options{Paths: p}
	checkDrawing(t, part, o)
	d := Draw(part, o)
	for _, n := range d.Graphs[0].Nodes {
		lit := false
		for _, m := range n.Marks {
			lit = lit || m == risky
		}
		if lit == (n.ID == "4.20.5") {
			t.Errorf("%s has the marks %v: nothing leads to 4.20.5 without risks", n.Label, n.Marks)
		}
	}
}
