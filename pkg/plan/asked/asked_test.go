package asked_test

import (
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/asked"
)

const configuration = `kind: ImageSetConfiguration
apiVersion: mirror.openshift.io/v2alpha1
mirror:
  platform:
    channels:
    - name: stable-4.20
  operators:
  - catalog: registry.example.com/zoo/index:v1
    packages:
    - name: heron
    - name: otter
  - catalog: registry.example.com/river/index:v1
    packages:
    - name: pike
  additionalImages:
  - name: registry.example.com/tools/netcheck:1.4
  helm:
    repositories:
    - name: site
      url: https://charts.example.com/
      charts:
      - name: web
        version: 1.0.0
`

// zoo is a plan in which heron of one catalog needs trout of the other, and trout needs gravel, which also needs trout.
func zoo() *plan.Plan {
	const zoo, river = "registry.example.com/zoo/index:v1", "registry.example.com/river/index:v1"
	of := digest.FromString
	p := &plan.Plan{
		Catalogs: []plan.Catalog{
			{Source: zoo, Packages: []plan.Package{{Name: "heron", Channels: []plan.Channel{{Name: "stable", Bundles: []plan.Bundle{{Name: "heron.v1"}}}}}, {Name: "otter"}}},
			{
				Source: river,
				Packages: []plan.Package{
					{Name: "trout", Channels: []plan.Channel{{Name: "stable", Bundles: []plan.Bundle{{Name: "trout.v1"}}}}},
					{Name: "gravel", Channels: []plan.Channel{{Name: "stable", Bundles: []plan.Bundle{{Name: "gravel.v1"}}}}},
					{Name: "pike"},
				},
				Required: []plan.Required{
					{Package: "trout", Bundle: "trout.v1", For: `bundle "heron.v1" of ` + zoo},
					{Package: "gravel", Bundle: "gravel.v1", For: `bundle "trout.v1" of ` + river},
					{Package: "trout", Bundle: "trout.v1", For: `bundle "gravel.v1" of ` + river},
				},
			},
		},
		Releases: []plan.Release{{Version: "4.20.1", Reasons: []plan.ReleaseReason{{Channel: "stable-4.20"}}}},
		Charts:   []plan.Chart{{Name: "web", Version: "1.0.0", Origin: "https://charts.example.com"}},
	}
	add := func(name string, size int64, because ...plan.Reason) {
		p.Blobs = append(p.Blobs, plan.Blob{Digest: of("blob " + name), Size: size})
		p.Manifests = append(p.Manifests, plan.Manifest{Digest: of(name), Size: 1, Blobs: []digest.Digest{of("blob " + name)}})
		p.Images = append(p.Images, plan.Image{Source: "registry.example.com/" + name, Digest: of(name), Reasons: because})
	}
	in := func(catalog, name string) plan.Reason { return plan.Reason{Catalog: catalog, Package: name} }
	add("heron", 10, in(zoo, "heron"))
	add("gravel", 100, in(river, "gravel"))
	add("both", 1000, in(zoo, "otter"), in(river, "trout"))
	add("tools/netcheck:1.4", 10_000, plan.Reason{List: "additionalImages"})
	add("index", 100_000, plan.Reason{Catalog: zoo, List: "operators"})
	return p
}

// TestOf checks who asked: directly, for a dependency of a dependency, or nothing in the file.
func TestOf(t *testing.T) {
	t.Parallel()
	c, err := imageset.Parse("isc.yaml", []byte(configuration))
	fail.On(t, err)
	p := zoo()
	l := asked.New(c)
	got := map[string][]int{
		"release": l.Of(p, "", plan.Reason{Release: p.Releases[0].Name()}),
		"chart":   l.Of(p, "", plan.Reason{Chart: p.Charts[0].String()}),
		"unknown": l.Of(p, "", plan.Reason{Catalog: "registry.example.com/other:v1", Package: "pike"}),
	}
	for i := range p.Images {
		for _, r := range p.Images[i].Reasons {
			got[p.Images[i].Source] = append(got[p.Images[i].Source], l.Of(p, p.Images[i].Source, r)...)
		}
	}
	fail.Diff(t, map[string][]int{
		"release": {6}, "chart": {22}, "unknown": nil, "registry.example.com/heron": {10}, "registry.example.com/gravel": {10},
		"registry.example.com/both": {11, 10}, "registry.example.com/tools/netcheck:1.4": {16}, "registry.example.com/index": nil,
	}, got)
	if lines := asked.New(nil).Of(p, "", plan.Reason{Catalog: p.Catalogs[0].Name(), Package: "heron"}); len(lines) > 0 {
		t.Errorf("without a configuration, %v asked", lines)
	}
}

// TestWithout checks that what two lines need stays without one of them.
func TestWithout(t *testing.T) {
	t.Parallel()
	c, err := imageset.Parse("isc.yaml", []byte(configuration))
	fail.On(t, err)
	fail.Diff(t, map[int]asked.Saved{10: {Images: 2, Bytes: 112}, 11: {}, 16: {Images: 1, Bytes: 10_001}}, asked.New(c).Without(zoo()))
}
