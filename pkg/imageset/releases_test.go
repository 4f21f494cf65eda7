package imageset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func TestArches(t *testing.T) {
	for name, tc := range map[string]struct {
		section string
		want    []release.Arch
	}{
		"nothing said":  {"", []release.Arch{"amd64"}},
		"an empty list": {"    architectures: []\n", []release.Arch{"amd64"}},
		"architectures": {"    architectures: [s390x, multi]\n", []release.Arch{"s390x", release.Multi}},
		"platforms":     {"    platforms: [{os: linux, architecture: s390x}]\n", []release.Arch{release.Multi}},
	} {
		c, err := imageset.Parse("f", []byte("apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n"+
			"  platform:\n    channels: [{name: stable-4.20}]\n"+tc.section))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, c.Mirror.Platform.Arches()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
