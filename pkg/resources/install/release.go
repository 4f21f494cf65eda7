package install

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// sortReleases returns releases, the newest first; of one version, the payload for several architectures and
// the one for x86_64 come first.
func sortReleases(releases []Release) ([]Release, error) {
	sorted := slices.Clone(releases)
	versions := map[string]semver.Version{}
	for _, r := range sorted {
		if r.Image.Digest == "" {
			return nil, fmt.Errorf("release %s-%s: %s has no digest", r.Version, r.Arch, r.Image)
		}
		v, err := semver.Parse(r.Version)
		if err != nil {
			return nil, fmt.Errorf("release %s-%s: %w", r.Version, r.Arch, err)
		}
		versions[r.Version] = v
	}
	rank := func(arch string) int {
		if i := slices.Index([]string{"multi", "x86_64"}, arch); i >= 0 {
			return i
		}
		return 2
	}
	elements.Sort(sorted, func(a, b Release) int {
		return cmp.Or(versions[b.Version].Compare(versions[a.Version]), strings.Compare(b.Version, a.Version), cmp.Compare(rank(a.Arch), rank(b.Arch)), strings.Compare(a.Arch, b.Arch))
	})
	return slices.CompactFunc(sorted, func(a, b Release) bool { return a.Version == b.Version && a.Arch == b.Arch }), nil
}

// image returns the payload by digest alone.
func (r Release) image() string { return r.Image.Repository().WithDigest(r.Image.Digest).String() }

// objectName returns the name of the release's ClusterImageSet: "img4.20.5-x86-64", as Advanced Cluster
// Management writes it.
func (r Release) objectName() string {
	return "img" + strings.NewReplacer("_", "-", "+", "-").Replace(strings.ToLower(r.Version+"-"+r.Arch))
}

type clusterImageSet struct {
	APIVersion string     `yaml:"apiVersion"`
	Kind       string     `yaml:"kind"`
	Metadata   objectMeta `yaml:"metadata"`
	Spec       struct {
		ReleaseImage string `yaml:"releaseImage"`
	} `yaml:"spec"`
}

// clusterImageSets writes one for each release. The payload is named by its name in the mirror: a hub that
// is not itself configured with the mirror sets finds it, too.
func (w *writer) clusterImageSets() {
	for _, r := range w.releases {
		// The console lists sets with the label.
		set := clusterImageSet{APIVersion: "hive.openshift.io/v1", Kind: "ClusterImageSet", Metadata: objectMeta{Name: r.objectName(), Labels: map[string]string{"visible": "true"}}}
		set.Spec.ReleaseImage = r.image()
		w.yaml("cluster-image-sets/"+r.objectName()+".yaml", []string{
			"Fields: https://github.com/openshift/hive/blob/master/config/crds/hive.openshift.io_clusterimagesets.yaml",
		}, set)
	}
}
