package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/page"
)

// hostile is a name that a catalog could have.
const hostile = `x</script><script>alert(1)</script>"' onload=alert(2) ` + "\x1b[31m \u00e9\u2026"

func document() *page.Document {
	row := page.Row{Cells: []page.Cell{{Text: hostile, Link: "pkg-1", Tags: []page.Tag{{Text: hostile, Look: page.Warn}}}, {Text: "3", Sort: 3, Note: hostile}, {Lines: []int{2}}, {Text: hostile, Code: true}}}
	table := page.Table{Caption: hostile, Columns: []page.Column{{Name: hostile}, {Name: "Images", Number: true}, {Name: "Asked for by"}, {Name: "Digest"}}, Rows: []page.Row{row}}
	return &page.Document{
		Kind: "Plan", Title: hostile, Lead: hostile, Facts: []page.Fact{{Name: hostile, Value: hostile, Note: hostile}},
		Sections: []page.Section{
			{ID: "empty", Title: "Left out"},
			{
				ID: "operators", Title: hostile, Lead: hostile, Tables: []page.Table{table},
				Messages: []page.Message{{Level: page.Warning, Text: "see https://ci:s3cret@host/path", More: hostile, Line: 1}},
				Map:      &page.Treemap{Caption: hostile, Groups: []string{hostile}, Tiles: []page.Tile{{Name: hostile, Value: 7, Text: "7 B", Link: "pkg-1"}, {Name: "b", Value: 1, Text: "1 B"}}},
				Items: []page.Item{{ID: "pkg-1", Title: hostile, Note: hostile, Lines: []int{2}, Tables: []page.Table{table}, Drawings: []diagram.Drawing{{
					Title: hostile, Graphs: []diagram.Graph{{Title: hostile, Nodes: []diagram.Node{{ID: hostile, Label: hostile, Facts: diagram.Facts{{Name: "n", Value: hostile}}}}}},
				}}}},
			},
		},
		Source: &page.Source{Name: "imageset.yaml", Lines: []string{"kind: ImageSetConfiguration", hostile}},
	}
}

func write(t *testing.T, d *page.Document) string {
	t.Helper()
	var b bytes.Buffer
	fail.On(t, page.Write(&b, d))
	return b.String()
}

// TestHostileNames checks that names from catalogs stay texts, and that passwords are left out.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	html := write(t, document())
	if n := strings.Count(html, "<script"); n != 1 {
		t.Errorf("the page has %d scripts, want 1", n)
	}
	if n := strings.Count(html, "</script"); n != 1 {
		t.Errorf("the page ends %d scripts, want 1", n)
	}
	for _, never := range []string{"s3cret", "\x1b", "<script>alert", `" onload`, "ZgotmplZ", "Left out", " style=", "http-equiv=\"refresh", "src="} {
		if strings.Contains(html, never) {
			t.Errorf("the page contains %q", never)
		}
	}
	for _, want := range []string{`<html lang="en">`, `href="#L2"`, `id="L2"`, `id="pkg-1"`, `href="#pkg-1"`, `scope="row"`, `scope="col"`, "<caption>", `class="skip"`, "[redacted]@host/path", `data-v="3"`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if strings.ContainsFunc(html, func(r rune) bool { return r > unicode.MaxASCII }) || !strings.Contains(html, "&#233;&#8230;") {
		t.Error("other characters than those of ASCII are no references")
	}
	fail.Diff(t, html, write(t, document()))
}

// TestPolicy checks that the policy permits the style sheet and the script of the page as they are written, and nothing else.
func TestPolicy(t *testing.T) {
	t.Parallel()
	html := write(t, document())
	between := func(begin, end string) string {
		_, rest, _ := strings.Cut(html, begin)
		text, _, found := strings.Cut(rest, end)
		if !found {
			t.Fatalf("the page has no %s", begin)
		}
		return text
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(between(`http-equiv="Content-Security-Policy" content="`, `"`))
	want := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(between("<style>", "</style>")) + "; script-src " + hash(between("<script>", "</script>"))
	fail.Diff(t, want, policy)
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.html")
	fail.On(t, page.WriteFile(path, document()))
	text, err := os.ReadFile(path)
	fail.On(t, err)
	fail.Diff(t, write(t, document()), string(text))
	wrong := document()
	wrong.Sections[1].Items[0].Drawings[0].Graphs[0].Nodes[0].ID = ""
	if err := page.WriteFile(path, wrong); err == nil {
		t.Error("a drawing that contradicts itself is written")
	}
	again, err := os.ReadFile(path)
	fail.On(t, err)
	fail.Diff(t, string(text), string(again))
	if err := page.WriteFile(filepath.Join(t.TempDir(), "none", "plan.html"), document()); err == nil || !strings.Contains(err.Error(), "writing the page") {
		t.Errorf("a page in a folder that does not exist: %v", err)
	}
}

// TestLargeDrawings checks that drawings do not make a page larger than readers can open.
func TestLargeDrawings(t *testing.T) {
	t.Parallel()
	d := document()
	item := &d.Sections[1].Items[0]
	item.Drawings = nil
	for range 12 {
		g := diagram.Graph{Title: "stable"}
		for i := range 900 {
			g.Nodes = append(g.Nodes, diagram.Node{ID: strings.Repeat("n", i+1), Label: "1.0.0"})
		}
		item.Drawings = append(item.Drawings, diagram.Drawing{Title: "huge", Graphs: []diagram.Graph{g}})
	}
	html := write(t, d)
	if len(html) > 5<<20 || !strings.Contains(html, "too large for this page") {
		t.Errorf("the page has %d bytes, and says nothing about its drawings", len(html))
	}
}
