package plan

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// The places in the mirror are those that oc mirror gives: release images, their
// components under each of their names, boot images, the image of graph data, and
// beside each image its signatures.
func TestReleasesGoWhereOcMirrorPutsThem(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, releasetest.Small())
	p := w.platform("    graph: true\n    kubeVirtContainer: true\n    channels: [{name: stable-4.20}]\n")
	made := w.Payload("4.20.1-x86_64")
	want := map[string]digest.Digest{
		"openshift/release-images:4.20.1-x86_64":              made.Digest,
		"openshift/release:4.20.1-x86_64-kube-virt-container": made.BootImages["amd64"],
		"openshift/graph-image:latest":                        p.GraphData.Digest,
	}
	for name, d := range made.Images {
		want["openshift/release:4.20.1-x86_64-"+name] = d
	}
	got, signatures := map[string]digest.Digest{}, 0
	for _, img := range p.Images {
		for _, tag := range img.Tags {
			if img.Kind != SignatureImage {
				got[img.Repository+":"+tag] = img.Digest
				continue
			}
			signatures++
			hex, _, _ := strings.Cut(strings.TrimPrefix(tag, "sha256-"), ".sig")
			signed := digest.NewDigestFromEncoded(digest.SHA256, hex)
			repository := ComponentRepository
			if signed == made.Digest {
				repository = ReleaseRepository
			}
			if img.Repository != repository || !slices.Contains(slices.Collect(maps.Values(want)), signed) {
				t.Errorf("the signatures %s are in %s", tag, img.Repository)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	distinct := map[digest.Digest]bool{}
	for _, d := range made.Images {
		distinct[d] = true
	}
	if want := 1 + len(distinct); signatures < want {
		t.Errorf("%d images have signatures, want at least %d", signatures, want)
	}
	// One image of two names is one image with two tags.
	tags := tagsOf(p, ComponentImage)[made.Images["ovn-kubernetes"]]
	if diff := cmp.Diff([]string{"4.20.1-x86_64-ovn-kubernetes", "4.20.1-x86_64-ovn-kubernetes-microshift"}, tags); diff != "" {
		t.Errorf("tags of the image of two names: %s", diff)
	}
	r := p.Releases[0]
	if r.Repository != ReleaseRepository || r.Tag != r.Name() || r.Digest != made.Digest || r.Source != made.Reference() || r.URL != made.URL ||
		len(r.Signatures) != 1 || !bytes.Equal(r.Signatures[0].Body, w.Signature(r.Digest)) || r.Unverified {
		t.Errorf("release: %+v", r)
	}
}

// An image that releases have in common is one image, with a tag for each of them
// and each as a reason.
func TestReleasesShareImages(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, releasetest.Small())
	p := w.platform("    channels: [{name: fast-4.20, minVersion: 4.20.1}]\n")
	shared := 0
	for _, img := range p.Images {
		if img.Kind != ComponentImage {
			continue
		}
		var want []string
		for _, version := range []string{"4.20.1", "4.20.2"} {
			name := release.Name(version, "amd64")
			for part, d := range w.Payload(name).Images {
				if d == img.Digest {
					want = append(want, name+"-"+part)
				}
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, img.Tags); diff != "" {
			t.Errorf("%s: %s", img.Source, diff)
		}
		if len(img.Because) != len(img.Tags) {
			t.Errorf("%s has the tags %q for %v", img.Source, img.Tags, img.Because)
		}
		if img.Because[0].Release != img.Because[len(img.Because)-1].Release {
			shared++
		}
	}
	if shared == 0 {
		t.Error("the releases have no image in common")
	}
}

func TestBootImages(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, releasetest.Small())
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
			"thinned out", "    platforms: [{os: linux, architecture: s390x}]\n    channels: [{name: stable-4.20}]\n",
			map[string]release.Arch{"4.20.1-multi-kube-virt-container-s390x": "s390x"}, "",
		},
		{
			"thinned out to none", "    platforms: [{os: linux, architecture: arm64}]\n    channels: [{name: stable-4.20}]\n", nil,
			"release 4.20.1-multi names no boot image of KubeVirt for what is mirrored of it (kubeVirtContainer)",
		},
		{
			"a release without", "    channels: [{name: stable-4.18}]\n", nil,
			"release 4.18.2-x86_64 names no boot image of KubeVirt for what is mirrored of it (kubeVirtContainer)",
		},
	} {
		p := w.platform("    kubeVirtContainer: true\n" + tc.stanza)
		got := map[string]digest.Digest{}
		for d, tags := range tagsOf(p, BootImage) {
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
		if got := strings.Join(p.Notes, "\n"); got != tc.note {
			t.Errorf("%s: notes %q, want %q", tc.name, got, tc.note)
		}
	}
}

// The list of a payload for all architectures stays as it is, and so do those of
// its components; platforms leave images out of them.
func TestPlatformsOfReleases(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, releasetest.Small())
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
		if err != nil {
			t.Fatal(err)
		}
		var want []digest.Digest
		for _, arch := range arches {
			want = append(want, made.Shards[arch])
		}
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
		// Each image of a list has its signatures, lists themselves have none.
		tags := map[string]bool{}
		for _, all := range tagsOf(p, SignatureImage) {
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
		// OpenPGP ones there are of the list and of all its shards.
		if n := len(p.Releases[0].Signatures); n != 5 {
			t.Errorf("%s: %d signatures", stanza, n)
		}
	}
}

// A release is named by tag or by digest; what it is stands in it.
func TestReleaseByName(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, releasetest.Small())
	for _, name := range []string{"4.20.1-x86_64", "4.20.2-multi", "4.18.2-x86_64"} {
		made := w.Payload(name)
		for _, ref := range []string{made.Repository + ":" + name, made.Reference()} {
			p := w.platform("    release: '" + ref + "'\n")
			r := p.Releases[0]
			if releaseNames(p) != name || r.Version != made.Version || r.Arch != made.Arch || r.Source != made.Reference() || r.Product != release.OCP {
				t.Errorf("%s: %+v", ref, p.Releases)
			}
			if diff := cmp.Diff([]ReleaseReason{{Reason: "release"}}, r.Reasons); diff != "" {
				t.Error(diff)
			}
			if len(p.Updates) > 0 || len(p.UpdateGraphs) > 0 {
				t.Errorf("%s has updates %v", ref, p.Updates)
			}
		}
	}
	made := w.Payload("4.20.1-x86_64")
	w.signatures = func(digest.Digest) ([][]byte, error) { return nil, nil } // of everything
	for ref, want := range map[string]string{
		made.Content + "@" + made.Images["cli"].String():         "it is no release image",
		made.Repository + ":4.20.9-x86_64":                       "imageset.yaml:5: reading release image quay.io/openshift-release-dev/ocp-release:4.20.9-x86_64: ",
		made.Repository + "@" + digest.FromString("no").String(): "imageset.yaml:5: reading release image ",
	} {
		_, err := w.make("  platform:\n    release: '" + ref + "'\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// Components that are nowhere hold the release back, and nothing else does.
func TestMissingComponents(t *testing.T) {
	t.Parallel()
	u := releasetest.Small()
	u.Releases[5].Flaws.Absent = []string{"rhel-coreos"}
	u.Releases[5].Flaws.Unsealed = []string{"machine-config-operator"} // of 4.20: nobody asks
	w := newReleaseWorld(t, u)
	p := w.platform("    channels: [{name: fast-4.20, minVersion: 4.20.1}]\n")
	if len(p.Missing) != 1 || p.Missing[0].Kind != ComponentImage {
		t.Fatalf("missing: %+v", p.Missing)
	}
	m := p.Missing[0]
	whole, ok := m.Because[0].Whole()
	if !ok || whole != (Whole{Release: "4.20.2-x86_64"}) || m.Because[0].Name != "rhel-coreos" || len(m.Because) != 1 || m.Err() == nil {
		t.Errorf("missing: %+v", m)
	}
	if releaseNames(p) != "4.20.1-x86_64 4.20.2-x86_64" {
		t.Errorf("releases: %s", releaseNames(p))
	}
}

// What the update service says a payload is, and what it is, are one thing.
func TestPayloadsThatAreOthers(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, releasetest.Small())
	read := func(change func(*chosenRelease)) error {
		c := &chosenRelease{product: release.OCP, arch: "amd64", version: "4.20.1", payload: w.Payload("4.20.1-x86_64").Reference()}
		change(c)
		p := &platform{from: w.from(), opts: Options{}.withDefaults()}
		_, err := p.read(t.Context(), c)
		return err
	}
	for name, tc := range map[string]struct {
		change func(*chosenRelease)
		want   string
	}{
		"nothing":              {func(*chosenRelease) {}, ""},
		"another version":      {func(c *chosenRelease) { c.version = "4.20.2" }, "release 4.20.2, but it calls itself 4.20.1"},
		"another architecture": {func(c *chosenRelease) { c.arch = "arm64" }, "as release 4.20.1, but that is for amd64"},
		"a tag":                {func(c *chosenRelease) { c.payload = "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64" }, "no reference by digest"},
		"no reference":         {func(c *chosenRelease) { c.payload = "https://quay.io" }, "no reference by digest"},
		"a shard": {
			func(c *chosenRelease) {
				c.payload = w.Payload("4.20.1-multi").Repository + "@" + w.Payload("4.20.1-multi").Shards["amd64"].String()
			},
			"is one image of release 4.20.1 for all architectures, not the release",
		},
	} {
		err := read(tc.change)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
