package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPage describes a mirror as a page: image sets with their ages and plans, and what a prune would delete.
func TestPage(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	html := func(after time.Duration) string {
		t.Helper()
		o := report.StatusOptions{Env: s.Env, Mirror: s.Docker("site"), Workspace: s.Path("none")}
		state, err := report.Status(t.Context(), o)
		fail.On(t, err)
		d, err := report.Page(t.Context(), o, state, time.Now().Add(after))
		fail.On(t, err)
		var b bytes.Buffer
		fail.On(t, page.Write(&b, d))
		return b.String()
	}
	if text := html(0); !strings.Contains(text, "no records of image sets") {
		t.Errorf("an empty mirror:\n%s", text)
	}
	s.Config("ops.yaml", mirrortest.FirstMonth)
	s.Mirrored(s.Path("ops.yaml"), s.Docker("site"))
	for after, want := range map[time.Duration]string{0: "less than an hour ago", 30 * time.Hour: "30 hours ago", 49 * 24 * time.Hour: "49 days ago"} {
		if text := html(after); !strings.Contains(text, want) || !strings.Contains(text, "Nothing to delete") || !strings.Contains(text, `id="set-1"`) {
			t.Errorf("the page after %s does not have %q", after, want)
		}
	}
	s.Config("ops.yaml", mirrortest.SecondMonth)
	s.Mirrored(s.Path("ops.yaml"), s.Docker("site"))
	if text := html(0); !strings.Contains(text, "gantry prune would delete") || !strings.Contains(text, "ops, revision 1") {
		t.Error("the page does not say what a prune would delete")
	}
}
