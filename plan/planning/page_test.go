package planning_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/page/planpage"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestPage makes pages of a plan with what clusters run: graphs with kept, pruned, installed and head bundles, lines of the
// configuration, and what changed since the plan before.
func TestPage(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	made := func(change func(o *planning.Options)) *planning.Result {
		t.Helper()
		o := planning.Options{Env: s.Env, Selection: selection.Selection{Config: s.Path("heads.yaml")}, Workspace: s.Workspace(), Page: true}
		change(&o)
		r, err := planning.Make(t.Context(), o)
		fail.On(t, err)
		return r
	}
	html := func(r *planning.Result) string {
		t.Helper()
		var b bytes.Buffer
		fail.On(t, page.Write(&b, r.Page))
		return b.String()
	}
	section := func(r *planning.Result, id string) page.Section {
		t.Helper()
		i := slices.IndexFunc(r.Page.Sections, func(s page.Section) bool { return s.ID == id })
		if i < 0 {
			t.Fatalf("there is no section %s", id)
		}
		return r.Page.Sections[i]
	}
	first := made(func(*planning.Options) {})
	if m := section(first, planpage.Changes).Messages; len(m) != 1 || !strings.Contains(m[0].Text, "first plan") {
		t.Errorf("the first plan: %+v", m)
	}
	for _, item := range section(first, planpage.Operators).Items {
		if len(item.Drawings) != 1 || len(item.Lines) != 1 {
			t.Errorf("%s has %d drawings and lines %v", item.Title, len(item.Drawings), item.Lines)
		}
	}
	second := made(func(*planning.Options) {})
	if m := section(second, planpage.Changes).Messages; len(m) != 1 || m[0].Text != "Nothing changed." {
		t.Errorf("the same plan again: %+v", m)
	}
	fail.Diff(t, html(second), html(made(func(*planning.Options) {})))
	wide := made(func(o *planning.Options) { o.Dependencies, o.Installed = true, []string{s.Path("csv.json")} })
	if len(section(wide, planpage.Changes).Tables) == 0 || len(section(wide, planpage.Required).Tables) != 1 {
		t.Error("the changes or the dependencies are missing")
	}
	text := html(wide)
	for _, want := range []string{">installed</text>", ">head</text>", "needed by", `href="#L`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	compared := made(func(o *planning.Options) { o.Destination = s.Docker("site") })
	if d := section(compared, "destination"); len(d.Tables) == 0 || d.Lead != s.Docker("site") {
		t.Errorf("%+v", d)
	}
	if without := made(func(o *planning.Options) { o.Page = false }); without.Page != nil {
		t.Error("a page is made that no one wants")
	}
}
