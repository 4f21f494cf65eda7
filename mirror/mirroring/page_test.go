package mirroring_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/page"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestPage describes runs as pages: to an archive, from it to a mirror, and again.
func TestPage(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	s.Config("ops.yaml", mirrortest.FirstMonth)
	html := func(o mirroring.Options, failure error) string {
		t.Helper()
		r, err := mirroring.Run(t.Context(), o)
		fail.On(t, err)
		var b bytes.Buffer
		fail.On(t, page.Write(&b, r.Page(&o.Selection, failure)))
		return b.String()
	}
	carried := s.MirrorOptions(s.Path("ops.yaml"), s.Archive("disk"))
	brought := s.MirrorOptions("", s.Docker("site"))
	brought.From, brought.Workspace = []string{s.Archive("disk")}, s.Path("site")
	for _, tc := range []struct {
		o       mirroring.Options
		failure error
		want    []string
	}{
		{carried, nil, []string{"archive, sequence 1", "Images that were copied", `href="#L`, ">Time</dt>"}},
		{brought, nil, []string{"Images that were copied", "for clusters, in "}},
		{brought, errors.New("the run failed"), []string{"Nothing had to be copied", "the run failed", `class="tag error"`}},
	} {
		text := html(tc.o, tc.failure)
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("the page of a run to %s does not contain %q", tc.o.Destination, want)
			}
		}
	}
	if d := (*mirroring.Result)(nil).Page(&carried.Selection, nil); d != nil {
		t.Error("a run without a plan has a page")
	}
}
