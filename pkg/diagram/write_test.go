package diagram_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

var update = flag.Bool("update", false, "write the golden files")

func render(t testing.TB, d diagram.Drawing, form diagram.Form) string {
	t.Helper()
	var out bytes.Buffer
	fail.On(t, diagram.Write(&out, d, form))
	return out.String()
}

func TestGolden(t *testing.T) {
	for _, form := range diagram.Forms() {
		t.Run(form, func(t *testing.T) {
			got := render(t, sample(), diagram.Form(form))
			golden := filepath.Join("testdata", "sample."+form)
			if *update {
				fail.On(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			fail.On(t, err)
			fail.Diff(t, string(want), got)
			if again := render(t, sample(), diagram.Form(form)); again != got {
				t.Error("the same drawing gave other bytes")
			}
		})
	}
}

func TestParseForm(t *testing.T) {
	for _, name := range diagram.Forms() {
		if form, err := diagram.ParseForm(name); err != nil || string(form) != name {
			t.Errorf("%s: got %q, %v", name, form, err)
		}
	}
	_, err := diagram.ParseForm("mermaids")
	if !errors.Is(err, diagram.ErrForm) || !strings.Contains(err.Error(), "did you mean mermaid?") {
		t.Errorf("got %v", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*diagram.Drawing)
		form   diagram.Form
		want   string
	}{
		"form":            {func(*diagram.Drawing) {}, "png", "no such form"},
		"node twice":      {func(d *diagram.Drawing) { d.Graphs[0].Nodes[1].ID = "etcd.v1.0.1" }, diagram.JSON, `node "etcd.v1.0.1" has no ID or is a duplicate`},
		"edge to nowhere": {func(d *diagram.Drawing) { d.Graphs[0].Edges[0].To = "x" }, diagram.JSON, `from "etcd.v1.0.0" to "x"`},
		"unknown mark":    {func(d *diagram.Drawing) { d.Graphs[0].Nodes[1].Marks = []string{"new"} }, diagram.SVG, `mark "new" is not declared`},
		"unknown kind":    {func(d *diagram.Drawing) { d.Graphs[0].Edges[0].Kind = "new" }, diagram.SVG, `kind "new" is not declared`},
		"mark twice":      {func(d *diagram.Drawing) { d.Marks[1].Name = "default" }, diagram.Text, `mark "default"`},
		"no look":         {func(d *diagram.Drawing) { d.Marks[1].Look = 99 }, diagram.Text, `mark "head"`},
		"no line":         {func(d *diagram.Drawing) { d.Kinds[1].Line = -1 }, diagram.Text, `kind "skips"`},
		"fact twice": {func(d *diagram.Drawing) {
			d.Graphs[0].Nodes[1].Facts = []diagram.Fact{{Name: "a"}, {Name: "a"}}
		}, diagram.DOT, `fact "a" is a duplicate`},
	} {
		t.Run(name, func(t *testing.T) {
			d := sample()
			tc.change(&d)
			var out bytes.Buffer
			err := diagram.Write(&out, d, tc.form)
			if err == nil || !strings.Contains(err.Error(), tc.want) || out.Len() > 0 {
				t.Errorf("got %v and %d bytes", err, out.Len())
			}
		})
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestWriteError(t *testing.T) {
	for _, form := range diagram.Forms() {
		if err := diagram.Write(failing{}, sample(), diagram.Form(form)); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("%s: got %v", form, err)
		}
	}
}
