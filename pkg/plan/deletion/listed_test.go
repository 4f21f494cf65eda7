package deletion_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
)

func nothing(*plan.Image) bool { return false }

// TestListed checks what lists of images select: words are the images of the list, and of what is selected.
func TestListed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ listed, selected, named string }{
		"nothing":              {"", "", ""},
		"bundle":               {"foo1:v1", "foo1:sig foo1:v1", "shared"},
		"package":              {"foo1:v1 foo2:v1 shared:v1", "foo1:sig foo1:v1 foo2:v1", "shared"},
		"related image":        {"shared:v1", "", ""},
		"catalog alone":        {"index:v1", "", ""},
		"catalog and a bundle": {"index:v1 bar1:v1", "bar1:v1", "shared"},
		"every bundle":         {"foo1:v1 foo2:v1 bar1:v1", "bar1:v1 foo1:sig foo1:v1 foo2:v1 index:v1 shared:sig shared:v1", ""},
		"release":              {"release-4.19.2:v1", "release-4.19.2:v1", ""},
		"others":               {"extra:v1 graph:v1 chart:v1", "chart:v1 extra:v1 graph:v1", ""},
	} {
		p := sample()
		listed := words(tc.listed)
		c := deletion.Listed(p, func(img *plan.Image) bool { return listed[strings.TrimPrefix(img.Names()[0], "a/")] })
		got, err := c.Of(p)
		fail.On(t, err)
		selected, named := map[string]bool{}, map[string]bool{}
		for i := range got.Images {
			selected[strings.TrimPrefix(got.Images[i].Names()[0], "a/")] = true
		}
		for i := range got.Named {
			named[strings.TrimPrefix(got.Named[i].Image.Repository, "a/")] = true
		}
		if diff := cmp.Diff(words(tc.selected), selected); diff != "" {
			t.Errorf("%s selects (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(words(tc.named), named); diff != "" {
			t.Errorf("%s names (-want +got):\n%s", name, diff)
		}
		if c.Touches(p) != (tc.selected != "") {
			t.Errorf("%s: Touches is %t", name, c.Touches(p))
		}
	}
}
