package removal_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/verify"
)

// TestDeleteReleases deletes releases by the lists of both tools, from a workspace that did not mirror them. What other
// releases have stays.
func TestDeleteReleases(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	p := mirrortest.SmallPlatform(t)
	s := p.Site
	s.Mirrored(s.Config("imageset.yaml", "  platform:\n    graph: true\n    kubeVirtContainer: true\n    channels: [{name: fast-4.20, from: [4.18.1]}]\n"), s.Docker("site"))
	left := func(workspace string, want ...string) {
		t.Helper()
		got := slices.Sorted(maps.Keys(p.MirrorTags("site/" + mirrortest.ReleaseRepository)))
		if got = slices.DeleteFunc(got, func(tag string) bool { return !strings.HasPrefix(tag, "4.") }); !slices.Equal(got, want) {
			t.Errorf("releases (-want +got):\n%s", cmp.Diff(want, got))
		}
		s.Verified("", s.Docker("site"), func(o *verify.Options) { o.Workspace = workspace })
	}
	left(s.Workspace(), "4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64")
	l := listed(s, "  platform:\n    channels: [{name: fast-4.20, minVersion: 4.18.1, maxVersion: 4.18.1}]\n", func(o *removal.DeletionListOptions) { o.Workspace = s.Path("other") })
	r := deleted(s, l.File, func(o *removal.DeleteOptions) { o.Workspace = s.Path("other") })
	if !slices.Contains(r.ImageSets, "imageset") || len(r.Images) == 0 {
		t.Errorf("%+v", r)
	}
	left(s.Path("other"), "4.19.2-x86_64", "4.20.2-x86_64")

	// oc mirror lists every image of the release, also those of other releases.
	var items []string
	for _, tag := range s.Tags("site/openshift") {
		if strings.Contains(tag, ":4.19.2-x86_64") {
			items = append(items, item(s, "quay.io/openshift-release-dev/x", strings.TrimPrefix(tag, "site/"), "ocpReleaseContent"))
		}
	}
	if r := deleted(s, list(s, items...)); len(r.Images) == 0 || len(r.Absent) > 0 {
		t.Errorf("%+v", r)
	}
	left(s.Workspace(), "4.20.2-x86_64")
}
