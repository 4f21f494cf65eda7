package mirroring_test

import (
	"bytes"
	"errors"
	"path/filepath"
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
	// The same with operators: the second run prunes a version, to a mirror and to a disk.
	c := mirrortest.Catalogs(t)
	for _, destination := range []string{c.Docker("zoo"), c.Archive("disk")} {
		text := ""
		for _, version := range []string{"1.2.0", "1.3.0"} {
			config := c.Config("zoo.yaml", "  operators:\n  - catalog: "+mirrortest.ZooRef+"\n    packages: [{name: otter, channels: [{name: stable, minVersion: "+version+"}]}]\n")
			o := c.MirrorOptions(config, destination)
			o.Page, o.Workspace = true, c.Path("for-"+filepath.Base(destination))
			text = html(o, nil)
		}
		for _, want := range []string{"Update graph of otter", ">Pruned versions</h2>", ">otter.v1.2.0</th><td>otter</td><td>the run before</td>", "Compared with the plan before: ", "removed: otter.v1.2.0"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page of the second run to %s does not contain %q", destination, want)
			}
		}
	}
	if d := (*mirroring.Result)(nil).Page(&carried.Selection, nil); d != nil {
		t.Error("a run without a plan has a page")
	}
}
