package releases

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// TestDefaultArches checks that releases are listed for the architectures of the configuration unless
// others are given.
func TestDefaultArches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		platform string // of the configuration
		given    []string
		want     []release.Arch
	}{
		"no platform":   {"", nil, []release.Arch{"amd64"}},
		"default":       {"  platform:\n    channels:\n    - name: stable-4.20\n", nil, []release.Arch{"amd64"}},
		"architectures": {"  platform:\n    architectures: [arm64, s390x]\n    channels:\n    - name: stable-4.20\n", nil, []release.Arch{"arm64", "s390x"}},
		"platforms":     {"  platform:\n    platforms: [{os: linux, architecture: arm64}]\n    channels:\n    - name: stable-4.20\n", nil, []release.Arch{"multi"}},
		"given":         {"  platform:\n    architectures: [arm64]\n    channels:\n    - name: stable-4.20\n", []string{"ppc64le", "ppc64le"}, []release.Arch{"ppc64le"}},
	} {
		config := filepath.Join(dir, name+".yaml")
		text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n  - name: quay.io/a/b:v1\n" + tc.platform
		fail.On(t, os.WriteFile(config, []byte(text), 0o600))
		e := &env.Env{Home: dir, Getenv: func(string) string { return "" }}
		given, err := parseArches(tc.given)
		fail.On(t, err)
		c, err := newReleaseClient(e, &ReleaseQuery{Config: config})
		e.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, c.orDefault(given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
