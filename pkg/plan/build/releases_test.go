package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func TestBootImages(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	for _, tc := range []struct {
		name, stanza string
		want         map[string]release.Arch
		note         string
	}{
		{"one architecture", "    channels: [{name: stable-4.20}]\n", map[string]release.Arch{"4.20.1-x86_64-kube-virt-container": "amd64"}, ""},
		{
			"all architectures", "    architectures: [multi]\n    channels: [{name: stable-4.20}]\n",
			map[string]release.Arch{"4.20.1-multi-kube-virt-container-x86_64": "amd64", "4.20.1-multi-kube-virt-container-s390x": "s390x"}, "",
		},
		{
			"limited", "    platforms: [{os: linux, architecture: s390x}]\n    channels: [{name: stable-4.20}]\n",
			map[string]release.Arch{"4.20.1-multi-kube-virt-container-s390x": "s390x"}, "",
		},
		{
			"limited to none", "    platforms: [{os: linux, architecture: arm64}]\n    channels: [{name: stable-4.20}]\n", nil,
			"release 4.20.1-multi has no KubeVirt boot image for the mirrored architectures; kubeVirtContainer has no effect",
		},
		{
			"a release without", "    channels: [{name: stable-4.18}]\n", nil,
			"release 4.18.2-x86_64 has no KubeVirt boot image for the mirrored architectures; kubeVirtContainer has no effect",
		},
	} {
		p := w.platform("    kubeVirtContainer: true\n" + tc.stanza)
		got := map[string]digest.Digest{}
		for d, tags := range tagsOf(p, plan.BootImage) {
			for _, tag := range tags {
				got[tag] = d
			}
		}
		want := map[string]digest.Digest{}
		for tag, arch := range tc.want {
			want[tag] = w.Payload(p.Releases[0].Name()).BootImages[arch]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		fail.Diff(t, tc.note, strings.Join(p.Notes, "\n"))
	}
}

// TestPlatformsOfReleases checks that the index of a payload for all architectures and the indexes
// of its components stay unchanged. Platforms only limit which of their images are mirrored.
func TestPlatformsOfReleases(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	for stanza, arches := range map[string][]release.Arch{
		"    architectures: [multi]\n": {"amd64", "arm64", "ppc64le", "s390x"},
		"    platforms: [{os: linux, architecture: amd64}, {os: linux, architecture: s390x}]\n": {"amd64", "s390x"},
	} {
		p := w.platform(stanza + "    channels: [{name: stable-4.20}]\n")
		made := w.Payload("4.20.1-multi")
		if releaseNames(p) != made.Name || p.Releases[0].Digest != made.Digest {
			t.Fatalf("releases: %+v", p.Releases)
		}
		contents, err := p.Contents()
		fail.On(t, err)
		want := elements.Map(arches, func(arch release.Arch) digest.Digest { return made.Shards[arch] })
		slices.Sort(want)
		m, _ := contents.Manifest(made.Digest)
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(m.Manifests))); diff != "" || m.Sparse != (len(arches) < 4) {
			t.Errorf("%s: the payload: sparse %t, %s", stanza, m.Sparse, diff)
		}
		for name, d := range made.Images {
			if m, _ := contents.Manifest(d); len(m.Manifests) != len(arches) || m.Sparse != (len(arches) < 4) {
				t.Errorf("%s: %s has %d images", stanza, name, len(m.Manifests))
			}
		}
		// Each image of an index has signatures; indexes have none.
		tags := map[string]bool{}
		for _, all := range tagsOf(p, plan.SignatureImage) {
			for _, tag := range all {
				tags[tag] = true
			}
		}
		for arch, d := range made.Shards {
			if has := tags[releasetest.SignatureTag(d)]; has != slices.Contains(arches, arch) {
				t.Errorf("%s: sigstore signatures of the shard for %s: %t", stanza, arch, has)
			}
		}
		if tags[releasetest.SignatureTag(made.Digest)] || len(p.Missing) > 0 {
			t.Errorf("%s: %+v", stanza, p.Missing)
		}
		// The index and all images for its architectures have OpenPGP signatures.
		if n := len(p.Releases[0].Signatures); n != 5 {
			t.Errorf("%s: %d signatures", stanza, n)
		}
	}
}

// TestReleaseByName checks that a release can be named by tag or digest. Its version and
// architecture come from its payload.
func TestReleaseByName(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	for _, name := range []string{"4.20.1-x86_64", "4.20.2-multi", "4.18.2-x86_64"} {
		made := w.Payload(name)
		for _, ref := range []string{made.Repository + ":" + name, made.Reference()} {
			p := w.platform("    release: '" + ref + "'\n")
			r := p.Releases[0]
			if releaseNames(p) != name || r.Version != made.Version || r.Arch != made.Arch || r.Source != made.Reference() || r.Product != release.OCP {
				t.Errorf("%s: %+v", ref, p.Releases)
			}
			fail.Diff(t, []plan.ReleaseReason{{Reason: "release"}}, r.Reasons)
			if len(p.Updates) > 0 || len(p.UpdateGraphs) > 0 {
				t.Errorf("%s has updates %v", ref, p.Updates)
			}
		}
	}
	made := w.Payload("4.20.1-x86_64")
	w.signatures = func(digest.Digest) ([][]byte, error) { return nil, nil } // of everything
	for ref, want := range map[string]string{
		made.Content + "@" + made.Images["cli"].String():         "not a release image",
		made.Repository + ":4.20.9-x86_64":                       "imageset.yaml:5: reading release image quay.io/openshift-release-dev/ocp-release:4.20.9-x86_64: ",
		made.Repository + "@" + digest.FromString("no").String(): "imageset.yaml:5: reading release image ",
	} {
		_, err := w.make("  platform:\n    release: '" + ref + "'\n")
		says(t, err, want)
	}
}

// TestMissingComponents checks that a missing component makes its release unpublishable, and no
// other release.
func TestMissingComponents(t *testing.T) {
	t.Parallel()
	u := releasetest.Small()
	u.Releases[5].Flaws.Missing = []string{"rhel-coreos"}
	u.Releases[5].Flaws.NoSigstore = []string{"machine-config-operator"} // 4.20 does not require signatures
	w := newReleaseFixture(t, u)
	p := w.platform("    channels: [{name: fast-4.20, minVersion: 4.20.1}]\n")
	if len(p.Missing) != 1 || p.Missing[0].Kind != plan.ComponentImage {
		t.Fatalf("missing: %+v", p.Missing)
	}
	m := p.Missing[0]
	whole, ok := m.Reasons[0].Publishable()
	if !ok || whole != (plan.Publishable{Release: "4.20.2-x86_64"}) || m.Reasons[0].Name != "rhel-coreos" || len(m.Reasons) != 1 || m.Err() == nil {
		t.Errorf("missing: %+v", m)
	}
	fail.Diff(t, "4.20.1-x86_64 4.20.2-x86_64", releaseNames(p))
}

// TestPayloadMismatch checks that the payload must match what the update graph says about it.
func TestPayloadMismatch(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	read := func(change func(*chosenRelease)) error {
		c := &chosenRelease{product: release.OCP, arch: "amd64", version: "4.20.1", source: w.Payload("4.20.1-x86_64").Reference()}
		change(c)
		r := releaseReader{cfg: &imageset.Releases{}, sources: w.sources(), opts: Options{}.withDefaults()}
		_, err := r.read(t.Context(), *c)
		return err
	}
	for name, tc := range map[string]struct {
		change func(*chosenRelease)
		want   string
	}{
		"nothing":              {func(*chosenRelease) {}, ""},
		"another version":      {func(c *chosenRelease) { c.version = "4.20.2" }, "release 4.20.2 in the update graph, but release 4.20.1 by its own metadata"},
		"another architecture": {func(c *chosenRelease) { c.arch = "arm64" }, "as release 4.20.1, but its architecture is amd64"},
		"a tag":                {func(c *chosenRelease) { c.source = "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64" }, "is not a reference by digest"},
		"no reference":         {func(c *chosenRelease) { c.source = "https://quay.io" }, "is not a reference by digest"},
		"a shard": {
			func(c *chosenRelease) {
				c.source = w.Payload("4.20.1-multi").Repository + "@" + w.Payload("4.20.1-multi").Shards["amd64"].String()
			},
			"is the image of release 4.20.1 for one architecture",
		},
	} {
		err := read(tc.change)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
