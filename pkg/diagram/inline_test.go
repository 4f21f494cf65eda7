package diagram

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestInline(t *testing.T) {
	t.Parallel()
	d := Drawing{
		Title: `a</svg><script>"`, Marks: []Mark{{Name: "kept", About: "is kept", Look: Chosen}}, Kinds: []Kind{{Name: "replaces", Line: Solid}},
		Graphs: []Graph{{Title: "stable", Nodes: []Node{{ID: "<1>", Label: "<1>", Marks: []string{"kept"}}, {ID: "2", Label: "2"}}, Edges: []Edge{{From: "<1>", To: "2", Kind: "replaces"}}}},
	}
	svg, err := Inline(d)
	fail.On(t, err)
	for _, never := range []string{"<script", "<style", "legend", "id=", "<1>"} {
		if strings.Contains(svg, never) {
			t.Errorf("the drawing contains %s:\n%s", never, svg)
		}
	}
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	d.Graphs[0].Edges[0].To = "3"
	if _, err := Inline(d); err == nil {
		t.Error("an edge to no node is drawn")
	}
}

func TestInlineStyleIsScoped(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(InlineStyle()) {
		if selectors, _, ok := strings.Cut(line, "{"); ok && !strings.HasPrefix(line, "@media") {
			for s := range strings.SplitSeq(selectors, ",") {
				if !strings.HasPrefix(s, ".drawing ") {
					t.Errorf("selector %q applies to the whole page", s)
				}
			}
		}
	}
}
