package inspect_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/page/planpage"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPage describes an archive as a page, also if a volume is missing.
func TestPage(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	s.Config("ops.yaml", mirrortest.FirstMonth)
	s.Mirrored(s.Path("ops.yaml"), s.Archive("disk"))
	html := func() string {
		t.Helper()
		r, d, err := inspect.Page(t.Context(), opened(s, s.Archive("disk")))
		fail.On(t, err)
		fail.Diff(t, inspected(s, s.Archive("disk")), r)
		var b bytes.Buffer
		fail.On(t, page.Write(&b, d))
		return b.String()
	}
	text := html()
	for _, want := range []string{"<h1>ops, sequence 1</h1>", "not signed", ">Volumes</h2>", ">present</span>", "additionalImages"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	fail.Diff(t, text, html())
	for _, v := range inspected(s, s.Archive("disk")).Sets[0].Volumes {
		fail.On(t, os.Remove(v.Path))
	}
	if text := html(); !strings.Contains(text, "missing or unusable") || !strings.Contains(text, "The plan cannot be read") {
		t.Error("the page does not say that a volume is missing")
	}
	c := mirrortest.Catalogs(t)
	for _, version := range []string{"1.2.0", "1.3.0"} {
		c.Exported(c.Config("zoo.yaml", "  operators:\n  - catalog: "+mirrortest.ZooRef+"\n    packages: [{name: otter, channels: [{name: stable, minVersion: "+version+"}]}]\n"), "disk")
	}
	_, d, err := inspect.Page(t.Context(), opened(c, c.Archive("disk")))
	fail.On(t, err)
	at := slices.IndexFunc(d.Sections, func(s page.Section) bool { return s.ID == planpage.Pruned })
	if tables := d.Sections[at].Tables; len(tables) != 1 || len(tables[0].Rows) != 1 || tables[0].Rows[0].Cells[0].Text != "otter.v1.2.0" || tables[0].Rows[0].Cells[2].Text != "sequence 1" {
		t.Errorf("the second archive of %s prunes %+v", d.Title, tables)
	}
	if _, _, err := inspect.Page(t.Context(), opened(s, s.Archive("none"))); err == nil {
		t.Error("a folder that does not exist is an archive")
	}
}
