package imageset_test

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// TestSetPlatformsMode checks that every entry with platforms gets the mode, unless it has its own.
func TestSetPlatformsMode(t *testing.T) {
	t.Parallel()
	const only = "platforms: [{os: linux, architecture: amd64}]"
	c, err := imageset.Parse("f.yaml", []byte(`apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  operators: [{catalog: quay.io/a/b:v1, `+only+`}, {catalog: quay.io/a/c:v1}]
  additionalImages: [{name: quay.io/a/d:v1, `+only+`, platformsMode: sparse}]
  helm:
    local: [{path: x, `+only+`}]
    repositories: [{name: r, url: "https://charts.example.com", charts: [{name: y, `+only+`}]}]
`))
	fail.On(t, err)
	m := &c.Mirror
	if !m.SetPlatformsMode(imageset.PlatformsRewrite) {
		t.Error("no entry selects platforms")
	}
	got := []string{m.Operators[0].PlatformsMode, m.Operators[1].PlatformsMode, m.AdditionalImages[0].PlatformsMode, m.Helm.Local[0].PlatformsMode, m.Helm.Repositories[0].Charts[0].PlatformsMode}
	for i, want := range []string{"rewrite", "", "sparse", "rewrite", "rewrite"} {
		fail.Diff(t, want, got[i])
	}
	if new(imageset.Mirror).SetPlatformsMode(imageset.PlatformsRewrite) {
		t.Error("an empty configuration selects platforms")
	}
}
