package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// TestSizesOfParts checks that the size of a release or package counts content that its images share only once, and that
// parts which share content count it in each.
func TestSizesOfParts(t *testing.T) {
	t.Parallel()
	base, app, other := digest.FromString("base"), digest.FromString("app"), digest.FromString("other")
	p := &plan.Plan{
		Catalogs: []plan.Catalog{{Source: "a.io/c:v1", Repository: "c", Tag: "v1", Digest: "sha256:cc", Built: true, Packages: []plan.Package{
			{Name: "kite", DefaultChannel: "stable", Channels: []plan.Channel{{Name: "beta", Head: "kite.v2"}, {Name: "stable", Head: "kite.v1"}}},
		}}},
		Releases: []plan.Release{{Version: "4.20.1", Arch: "amd64"}, {Version: "4.20.2", Arch: "amd64"}},
		Images: []plan.Image{
			{Source: "one", Digest: digest.FromString("one"), Reasons: []plan.Reason{{Release: "4.20.1-x86_64"}, {Release: "4.20.2-x86_64"}}},
			{Source: "two", Digest: digest.FromString("two"), Reasons: []plan.Reason{{Release: "4.20.2-x86_64"}, {Release: "4.20.2-x86_64"}, {Catalog: "a.io/c:v1", Package: "kite"}}},
		},
		Manifests: []plan.Manifest{{Digest: digest.FromString("one"), Size: 1, Blobs: []digest.Digest{base, app}}, {Digest: digest.FromString("two"), Size: 2, Blobs: []digest.Digest{base, other}}},
		Blobs:     []plan.Blob{{Digest: base, Size: 1000}, {Digest: app, Size: 20}, {Digest: other, Size: 3}},
	}
	got := Plan(p, p.Notes, "", nil, nil, 0)
	for _, want := range []string{
		"Catalog a.io/c:v1\n  becomes c:v1 (rebuilt, sha256:cc)\n\n" +
			"  PACKAGE  CHANNEL           HEAD     VERSIONS  BUNDLES  KEPT FOR  IMAGES  SIZE\n" +
			"  kite     beta              kite.v2  -         0                  1       1005 B\n" +
			"           stable (default)  kite.v1  -         0\n",
		"  4.20.1-x86_64             yes     1       1021 B\n  4.20.2-x86_64             yes     2       1.0 KiB\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("a plan:\n%s\nwant in it:\n%s", got, want)
		}
	}
	p.Blobs = append(p.Blobs, p.Blobs[0]) // no plan that can be read
	if got := Plan(p, p.Notes, "", nil, nil, 0); strings.Contains(got, "SIZE") {
		t.Errorf("a plan with unknown content has sizes:\n%s", got)
	}
}

// TestOperatorsOfPlan checks what a plan says about the features of operators, and about images that they use and do not
// list. Of many, it has the first.
func TestOperatorsOfPlan(t *testing.T) {
	t.Parallel()
	c := plan.Catalog{
		Features: plan.FeatureList{{Package: "kite", Bundle: "kite.v1", Supported: []string{"fips-compliant"}, Unsupported: []string{"disconnected"}}},
		Unlisted: []plan.UnlistedImage{
			{Image: "a.io/x:1", Bundle: "kite.v1", Found: []string{"container manager", "annotation must-gather"}, ListedAs: "a.io/x@sha256:aa", Mirrored: true}, {Image: "a.io/y:1", Bundle: "kite.v1", Found: []string{"env Y"}},
		},
	}
	written := func() string {
		var b strings.Builder
		writeFeatures(&b, c, 0)
		writeUnlisted(&b, c)
		return b.String()
	}
	fail.Diff(t, `  Features that operators declare
    kite.v1  fips-compliant, not disconnected

  Images that bundles use and relatedImages does not list
    a.io/x:1  mirrored
      kite.v1: container manager; annotation must-gather
      relatedImages has it under another name: a.io/x@sha256:aa
    a.io/y:1  NOT MIRRORED
      kite.v1: env Y

`, written())
	for i := range 21 {
		c.Features = append(c.Features, plan.DeclaredFeatures{Bundle: fmt.Sprintf("b.v%d", i)})
		c.Unlisted = append(c.Unlisted, plan.UnlistedImage{Image: fmt.Sprintf("a.io/z:%d", i)})
	}
	got := written()
	for _, want := range []string{"    and 2 more; gantry list packages -o wide lists all\n\n", "    and 3 more; -o json lists all\n\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	c.Features, c.Unlisted = nil, nil
	fail.Diff(t, "", written())
}

// TestTotals has one of everything.
func TestTotals(t *testing.T) {
	t.Parallel()
	fail.Diff(t, []string{"Images\t1\t(1 bundle, 0 related, 0 additional, 0 catalog)", "Content\t0 B\t(1 manifest, 1 blob, each counted once)"},
		totals(plan.Totals{Images: 1, Manifests: 1, Blobs: 1}, map[plan.ImageKind]int{plan.BundleImage: 1}))
}
