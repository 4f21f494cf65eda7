package diagram_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// large returns a drawing of one graph: a chain with forks, skips and names that are not in it.
func large(nodes int) diagram.Drawing {
	d := sample()
	r := rand.New(rand.NewPCG(uint64(nodes), 1))
	g := diagram.Graph{Title: "large"}
	for i := range nodes {
		n := diagram.Node{ID: fmt.Sprintf("foo.v1.%d.0", i), Label: fmt.Sprintf("1.%d.0", i), Detail: fmt.Sprintf("foo.v1.%d.0", i)}
		for _, m := range d.Marks {
			if r.IntN(12) == 0 {
				n.Marks = append(n.Marks, m.Name)
			}
		}
		if r.IntN(10) == 0 {
			n.Note = "directly from 3 more"
		}
		g.Nodes = append(g.Nodes, n)
		if i == 0 {
			continue
		}
		from := i - 1
		if r.IntN(10) == 0 {
			from = r.IntN(i)
		}
		g.Edges = append(g.Edges, diagram.Edge{From: g.Nodes[from].ID, To: n.ID, Kind: "replaces"})
		if r.IntN(6) == 0 {
			g.Edges = append(g.Edges, diagram.Edge{From: g.Nodes[r.IntN(i)].ID, To: n.ID, Kind: "skips", Label: "risk", Folded: r.IntN(2) == 0})
		}
	}
	d.Graphs = []diagram.Graph{g}
	return d
}

func TestJSONHasEverything(t *testing.T) {
	for _, d := range []diagram.Drawing{sample(), large(150), {}} {
		var got struct {
			Kind    string
			Version int
			Graphs  []struct {
				Title string
				Nodes []struct{ ID string }
				Edges []struct {
					From, To, Kind string
					Folded         bool
				}
			}
		}
		fail.On(t, json.Unmarshal([]byte(render(t, d, diagram.JSON)), &got))
		if got.Kind != "GantryGraph" || got.Version != 1 || len(got.Graphs) != len(d.Graphs) {
			t.Fatalf("got %+v", got)
		}
		for i, g := range d.Graphs {
			nodes, edges := map[string]bool{}, map[string]int{}
			for _, n := range got.Graphs[i].Nodes {
				nodes[n.ID] = true
			}
			for _, e := range got.Graphs[i].Edges {
				edges[fmt.Sprint(e.From, e.To, e.Kind, e.Folded)]++
			}
			for _, n := range g.Nodes {
				if !nodes[n.ID] {
					t.Errorf("there is no node %s", n.ID)
				}
			}
			for _, e := range g.Edges {
				if edges[fmt.Sprint(e.From, e.To, e.Kind, e.Folded)] == 0 {
					t.Errorf("there is no edge %+v", e)
				}
			}
		}
	}
}

// An element is one element of an SVG picture.
type element struct {
	name, class string
	attr        map[string]string
	text        string
}

// svgElements parses a picture strictly.
func svgElements(t testing.TB, picture string) []element {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(picture))
	dec.Strict = true
	var elements []element
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return elements
		}
		fail.On(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			e.class = e.attr["class"]
			elements = append(elements, e)
		case xml.CharData:
			if n := len(elements); n > 0 {
				elements[n-1].text += string(token)
			}
		}
	}
}

func TestBoxesDoNotOverlap(t *testing.T) {
	for _, n := range []int{1, 2, 10, 150, 400} {
		d := large(n)
		type rect struct{ x, y, w, h float64 }
		var boxes []rect
		for _, e := range svgElements(t, render(t, d, diagram.SVG)) {
			if e.name == "rect" && e.class == "box" {
				var r rect
				for attr, to := range map[string]*float64{"x": &r.x, "y": &r.y, "width": &r.w, "height": &r.h} {
					f, err := strconv.ParseFloat(e.attr[attr], 64)
					fail.On(t, err)
					*to = f
				}
				if r.h > 20 { // those of the legend are smaller
					boxes = append(boxes, r)
				}
			}
		}
		fail.Diff(t, n, len(boxes))
		for i, a := range boxes {
			for _, b := range boxes[:i] {
				if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
					t.Fatalf("%+v and %+v overlap", a, b)
				}
			}
		}
	}
}

func TestLegendHasWhatOccurs(t *testing.T) {
	legend := func(d diagram.Drawing) string {
		var words []string
		for _, e := range svgElements(t, render(t, d, diagram.SVG)) {
			if e.class == "word" {
				words = append(words, strings.TrimSpace(e.text))
			}
		}
		return strings.Join(words, "\n")
	}
	want := `the channel where none is named
what is new
what runs
kept: taken along
pruned: left behind
skipped: passed over
advised against
shared: elsewhere, too
absent: not here
replaces: the chain
skips: past others
skipRange: from every version in it`
	fail.Diff(t, want, legend(sample()))
	fail.Diff(t, "", legend(diagram.Drawing{Title: "nothing"}))
}

func TestTextStandsOnce(t *testing.T) {
	d := large(150)
	lines := strings.Split(render(t, d, diagram.Text), "\n")
	for _, n := range d.Graphs[0].Nodes {
		count := 0
		for _, line := range lines {
			if before, after, ok := strings.Cut(line, "o "+n.Label+" "); ok && strings.Trim(before, " |") == "" && after != "" {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%s occurs %d times", n.ID, count)
		}
	}
}

// A cycle has no last version, but every form shows all of it.
func TestCycle(t *testing.T) {
	d := sample()
	d.Graphs = []diagram.Graph{{
		Title: "round",
		Nodes: []diagram.Node{{ID: "a", Label: "a"}, {ID: "b", Label: "b"}, {ID: "c", Label: "c"}},
		Edges: []diagram.Edge{
			{From: "a", To: "b", Kind: "replaces"}, {From: "b", To: "c", Kind: "replaces"}, {From: "c", To: "a", Kind: "replaces"},
			{From: "a", To: "a", Kind: "skips"},
		},
	}}
	want := `etcd & friends
7 bundles in 2 channels.

round
  o c  replaces b
  o b  replaces a
  o a  replaces c; skips a
`
	fail.Diff(t, want, render(t, d, diagram.Text))
	if n := strings.Count(render(t, d, diagram.SVG), `class="tip"`); n != 4 { // and one in the legend
		t.Errorf("the picture has %d tips", n)
	}
}

var (
	dotLine = regexp.MustCompile(`^\s*(digraph gantry \{|\}|(graph|node|edge) \[[^\n]*\];|subgraph cluster_\d+ \{|label="([^"\\]|\\.)*";|color=gray;|` +
		`g\d+_\d+ \[label="([^"\\]|\\.)*", tooltip="([^"\\]|\\.)*"(, [a-z]+=("[^"\\]*"|[a-z0-9.]+))*\];|` +
		`g\d+_\d+ -> g\d+_\d+ \[style=[a-z]+, tooltip="([^"\\]|\\.)*"(, label="([^"\\]|\\.)*")?(, color=gray60)?\];)$`)
	mermaidQuoted = "\"[^\"'`&;\\\\{}\\[\\]|*_~%$@<>]+\""
	mermaidLine   = regexp.MustCompile(strings.ReplaceAll(`^(---|title: "([^"\\]|\\.)*"|flowchart LR|\s+subgraph g\d+\[Q\]|\s+direction LR|\s+end|`+
		`\s+g\d+n\d+\(Q\)|\s+class g\d+n\d+ [a-z,]+|\s+g\d+n\d+ (-->|-\.->)(\|Q\|)? g\d+n\d+|\s+classDef [a-z]+ [a-z0-9#:, -]+)$`, "Q", mermaidQuoted))
	mermaidReference = regexp.MustCompile(`#\d+;|<br/>`)
)

// hostile checks that no form interprets an untrusted text.
func hostile(t *testing.T, text string) { hostileIn(t, sample, text) }

func hostileIn(t *testing.T, plain func() diagram.Drawing, text string) {
	t.Helper()
	d := dressedIn(plain(), text)
	svgElements(t, render(t, d, diagram.SVG))

	var back map[string]any
	fail.On(t, json.Unmarshal([]byte(render(t, d, diagram.JSON)), &back))
	for line := range strings.SplitSeq(strings.TrimSuffix(render(t, d, diagram.DOT), "\n"), "\n") {
		if !dotLine.MatchString(line) {
			t.Fatalf("DOT has the line %q", line)
		}
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(render(t, d, diagram.Mermaid), "\n"), "\n") {
		bare := line
		if !strings.HasPrefix(line, "title: ") {
			bare = mermaidReference.ReplaceAllString(line, "x")
		}
		if !mermaidLine.MatchString(bare) {
			t.Fatalf("Mermaid has the line %q", line)
		}
	}
	for _, form := range []diagram.Form{diagram.SVG, diagram.Mermaid, diagram.DOT, diagram.Text} {
		out := render(t, d, form)
		for _, r := range out {
			if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%s has %U", form, r)
			}
		}
	}
	if got, want := strings.Count(render(t, d, diagram.Text), "\n"), strings.Count(render(t, plain(), diagram.Text), "\n"); got > want || got < want-1 {
		t.Fatalf("the text has %d lines, not %d", got, want)
	}
}

var hostileTexts = []string{
	"", "plain", `"quoted"`, `\`, `\N \l \"`, `a"]; b -> c; "`, `"]-->x["`, "end", "`code`", "**bold** _under_", "1. list", "- list",
	"<script>alert(1)</script>", "&lt;b&gt; &#34;", "]]>", "--> <!-- -->", "#quot;#35;", "%% comment", "%%{init: {}}%%", "click a href",
	"\x1b[31mred\x1b[0m", "two\nlines\r\n", "tab\there", "nul\x00byte", "\xff\xfe not UTF-8", "\u202eright to left", "\u2028separator",
	"\ufffe", "日本語の名前", "e\u0301", strings.Repeat("long", 300), "$(id)", "|pipe|", "{{braces}}", "a;b", "'",
}

func TestHostileTexts(t *testing.T) {
	for _, text := range hostileTexts {
		t.Run(fmt.Sprintf("%.20q", text), func(t *testing.T) { hostile(t, text) })
	}
}

// FuzzHostileTexts is the same for texts of a fuzzer, and a small drawing.
//
// Slow: it draws and writes five forms; none is a parser.
func FuzzHostileTexts(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { hostileIn(t, few, text[:min(len(text), 200)]) })
}
