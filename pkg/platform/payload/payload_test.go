package payload

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

func imageOf(t testing.TB, version string) spec {
	t.Helper()
	return spec{label: version, layers: [][]entry{baseLayer, operatorLayer, releaseLayer(t, version)}}
}

// payloadOf returns what Read returns for imageOf.
func payloadOf(version string, d digest.Digest) *Payload {
	return &Payload{
		Release: Release{
			Digest: d, Version: version, Arch: "amd64", Previous: []string{"4.20.3", "4.20.4"},
			Metadata: map[string]string{"url": "https://example.com/errata/1"}, URL: "https://example.com/errata/1",
		},
		Components: []Component{
			{Names: []string{"cli", "cli-alias"}, Ref: content + "@" + sha("cli").String(), Digest: sha("cli")},
			{Names: []string{"etcd"}, Ref: content + "@" + sha("etcd").String(), Digest: sha("etcd")},
		},
	}
}

var exported = cmpopts.IgnoreUnexported(Payload{})

func TestRead(t *testing.T) {
	for _, compression := range []string{"gzip", "zstd", "plain"} {
		m := newMemory()
		s := imageOf(t, "4.20.5")
		s.compression = compression
		desc := m.image(t, s)
		m.tag = desc.Digest
		for _, d := range []digest.Digest{"", desc.Digest} {
			got, err := Read(t.Context(), m, repository, d)
			fail.On(t, err)
			fail.Diff(t, payloadOf("4.20.5", desc.Digest), got, exported)
		}
		if got := m.read[digest.FromBytes(m.layerOf(t, baseLayer, compression))]; got != 0 {
			t.Errorf("%s: the base layer was read %d times", compression, got)
		}
	}
}

func (m *memory) layerOf(t testing.TB, entries []entry, compression string) []byte {
	t.Helper()
	data, _ := compressed(t, pack(t, entries), compression)
	if m.blobs[digest.FromBytes(data)] == nil {
		t.Fatal("no such layer")
	}
	return data
}

// TestReadBelow checks that a layer on top that does not contain the directory changes nothing.
func TestReadBelow(t *testing.T) {
	m := newMemory()
	s := imageOf(t, "4.20.5")
	s.layers = append(s.layers, []entry{{"release-manifests/", ""}, {"etc/motd", "hello"}})
	desc := m.image(t, s)
	got, err := Read(t.Context(), m, repository, desc.Digest)
	fail.On(t, err)
	fail.Diff(t, payloadOf("4.20.5", desc.Digest), got, exported)
}

// shards stores images of one version for several architectures and returns them.
func (m *memory) shards(t testing.TB, version string, arches ...string) []ocispec.Descriptor {
	t.Helper()
	var descs []ocispec.Descriptor
	for _, arch := range arches {
		s := imageOf(t, version)
		s.arch = arch
		s.layers[2][2].text = metadata(version, `,"release.openshift.io/architecture":"multi"`)
		descs = append(descs, m.image(t, s))
	}
	return descs
}

// TestArch checks that the architecture follows the rule of Cincinnati.
func TestArch(t *testing.T) {
	type want struct {
		arch  release.Arch
		shard bool
	}
	multi := map[string]string{"url": "https://example.com/errata/1", archKey: "multi"}
	m := newMemory()
	shards := m.shards(t, "4.20.5", "amd64", "arm64", "ppc64le", "s390x")
	arm := imageOf(t, "4.20.5")
	arm.arch = "arm64"
	otherName := m.image(t, arm)
	otherName.Platform = &ocispec.Platform{OS: "linux", Architecture: "s390x"}
	noPlatform := m.image(t, arm)
	noPlatform.Platform = nil
	for _, tc := range []struct {
		name     string
		root     ocispec.Descriptor
		children []ocispec.Descriptor
		metadata map[string]string
		want     want
	}{
		{"an image", m.image(t, arm), nil, nil, want{"arm64", false}},
		{"a list of one", m.list(t, shards[1]), shards[1:2], multi, want{"arm64", false}},
		{"a list of one goes by the list", m.list(t, otherName), []ocispec.Descriptor{otherName}, nil, want{"s390x", false}},
		{"a list of one without platform", m.list(t, noPlatform), []ocispec.Descriptor{noPlatform}, nil, want{"arm64", false}},
		{"a list of four", m.list(t, shards...), shards, multi, want{release.Multi, false}},
		{"a shard", shards[1], nil, multi, want{"arm64", true}},
	} {
		p, err := Read(t.Context(), m, repository, tc.root.Digest)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		want := payloadOf("4.20.5", tc.root.Digest)
		want.Arch, want.Shard, want.Children = tc.want.arch, tc.want.shard, tc.children
		if tc.metadata != nil {
			want.Metadata = tc.metadata
		}
		fail.Diff(t, want, p, exported)
	}
}

// TestReadList checks that one image of an index is read completely, and only the config of the
// others.
func TestReadList(t *testing.T) {
	m := newMemory()
	shards := m.shards(t, "4.20.5", "amd64", "arm64", "s390x")
	root := m.list(t, shards...)
	_, err := Read(t.Context(), m, repository, root.Digest)
	fail.On(t, err)
	for _, n := range m.read {
		fail.Diff(t, 1, n)
	}
	fail.Diff(t, 8, len(m.read)) // the list, three manifests and configs, one layer

	// An index with missing images is accepted; the planner reports them.
	for name, gone := range map[string][]int{"first": {0}, "last": {2}, "first two": {0, 1}} {
		sparse := newMemory()
		sparse.blobs, sparse.types = copied(m.blobs), m.types
		for _, n := range gone {
			delete(sparse.blobs, shards[n].Digest)
		}
		p, err := Read(t.Context(), sparse, repository, root.Digest)
		if err != nil || len(p.Children) != 3 || p.Arch != release.Multi {
			t.Errorf("without the %s: %+v, %v", name, p, err)
		}
		if about, err := Metadata(t.Context(), sparse, repository, root.Digest); err != nil || about.Arch != release.Multi {
			t.Errorf("metadata without the %s: %+v, %v", name, about, err)
		}
	}
	for _, s := range shards {
		delete(m.blobs, s.Digest)
	}
	if _, err := Read(t.Context(), m, repository, root.Digest); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none of the 3 images") {
		t.Errorf("with none: %v", err)
	}
}

func copied(blobs map[digest.Digest][]byte) map[digest.Digest][]byte {
	c := map[digest.Digest][]byte{}
	maps.Copy(c, blobs)
	return c
}

// TestMetadata checks that Metadata reads only the manifest, the config and the top layer, also
// with concurrent readers.
func TestMetadata(t *testing.T) {
	m := newMemory()
	shards := m.shards(t, "4.20.5", "amd64", "arm64")
	s := imageOf(t, "4.20.6")
	s.layers[2] = append(s.layers[2], entry{"release-manifests/broken.yaml", policyKind + ": ["}, entry{"release-manifests/link.yaml", "x"})
	for _, tc := range []struct {
		root  ocispec.Descriptor
		reads int
		want  Release
	}{
		{m.image(t, s), 3, Release{Version: "4.20.6", Arch: "amd64"}},
		{m.list(t, shards...), 4, Release{Version: "4.20.5", Arch: release.Multi}},
		{shards[1], 3, Release{Version: "4.20.5", Arch: "arm64", Shard: true}},
	} {
		clear(m.read)
		got, err := Metadata(t.Context(), m, repository, tc.root.Digest)
		fail.On(t, err)
		if len(m.read) != tc.reads {
			t.Errorf("%s: %d things were read, want %d", tc.want.Version, len(m.read), tc.reads)
		}
		tc.want.Digest = tc.root.Digest
		fail.Diff(t, &tc.want, got, cmpopts.IgnoreFields(Release{}, "Previous", "Metadata", "URL"))
		if len(got.Previous) != 2 || got.URL == "" {
			t.Errorf("previous %q, URL %q", got.Previous, got.URL)
		}
	}

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if about, err := Metadata(t.Context(), m, repository, shards[0].Digest); err != nil || about.Version != "4.20.5" {
				t.Errorf("%+v, %v", about, err)
			}
		})
	}
	wg.Wait()
}

func TestReadErrors(t *testing.T) {
	const version = "4.20.5"
	good := func() spec { return imageOf(t, version) }
	with := func(change func(*spec)) spec { s := good(); change(&s); return s }
	top := func(entries ...entry) spec {
		return with(func(s *spec) { s.layers[2] = entries })
	}
	more := func(entries ...entry) spec {
		return with(func(s *spec) { s.layers[2] = append(s.layers[2], entries...) })
	}
	for _, tc := range []struct {
		name    string
		image   spec
		want    string
		release bool // whether it may still be a release image
	}{
		{"no label", with(func(s *spec) { s.label = "" }), "label io.openshift.release is missing", false},
		{"an artifact", with(func(s *spec) { s.config = "application/vnd.oci.empty.v1+json" }), "an artifact", false},
		{"no references", top(entry{"etc/motd", "hello"}), "/release-manifests/image-references does not", false},
		{"no metadata", top(entry{referencesFile, references(t, version, "a=a")}), "/release-manifests/release-metadata does not", false},
		{"metadata alone", top(entry{metadataFile, metadata(version, "")}), "changes part of /release-manifests", true},
		{"a manifest added", with(func(s *spec) { s.layers = append(s.layers, []entry{{"release-manifests/x.yaml", "a"}}) }), "changes part of /release-manifests", true},
		{"a manifest removed", with(func(s *spec) { s.layers = append(s.layers, []entry{{"release-manifests/.wh.x.yaml", ""}}) }), "changes part of /release-manifests", true},
		{"the folder removed", with(func(s *spec) { s.layers = append(s.layers, []entry{{".wh.release-manifests", ""}}) }), "changes part of /release-manifests", true},
		{"everything removed", with(func(s *spec) { s.layers = append(s.layers, []entry{{"./.wh..wh..opq", ""}}) }), "changes part of /release-manifests", true},
		{"a link for the folder", with(func(s *spec) { s.layers = append(s.layers, []entry{{"release-manifests", "-> other"}}) }), "changes part of /release-manifests", true},
		{"another label", with(func(s *spec) { s.label = "4.20.6" }), `the label io.openshift.release says "4.20.6", but /release-manifests/release-metadata says "4.20.5"`, true},
		{"another name", top(entry{referencesFile, references(t, "4.20.6", "a=a")}, entry{metadataFile, metadata(version, "")}), `image-references has version "4.20.6", but /release-manifests/release-metadata has "4.20.5"`, true},
		{"a name that makes no tag", top(entry{referencesFile, references(t, version, "a/b=a")}, entry{metadataFile, metadata(version, "")}), `"a/b", which cannot be part of a tag`, true},
		{"a name that makes a long tag", top(entry{referencesFile, references(t, version, strings.Repeat("a", 120)+"=a")}, entry{metadataFile, metadata(version, "")}), "cannot be part of a tag", true},
		{"an architecture", with(func(s *spec) { s.arch = "riscv64" }), `unknown architecture "riscv64"`, true},
		{"references twice", more(entry{"./release-manifests/../" + referencesFile, "{}"}), "the name occurs twice in the layer", true},
		{"a linked manifest", more(entry{"release-manifests/x.yaml", "-> y.yaml"}), "not a regular file", true},
		{"a broken manifest", more(entry{"release-manifests/x.yaml", policyKind + ": ["}), "reading /release-manifests/x.yaml: object 1", true},
		{"a large manifest", with(func(s *spec) {
			s.layers = [][]entry{append(s.layers[2], entry{"release-manifests/x.yaml", strings.Repeat("#", maxFile+1)})}
			s.compression = "plain"
		}), "more than 33554432 bytes", true},
		{"an encrypted layer", with(func(s *spec) { s.layerType = "application/vnd.oci.image.layer.v1.tar+gzip+encrypted" }), "is not supported", true},
		{"wrong diff IDs", with(func(s *spec) { s.diffIDs = []digest.Digest{sha("a"), sha("b"), sha("c")} }), "the config says " + sha("c").String(), true},
		{"no diff IDs", with(func(s *spec) { s.diffIDs = []digest.Digest{} }), "0 diff IDs for the 3 layers", true},
		{"few diff IDs", with(func(s *spec) { s.diffIDs = []digest.Digest{sha("a")} }), "1 diff IDs for the 3 layers", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newMemory()
			desc := m.image(t, tc.image)
			_, err := Read(t.Context(), m, repository, desc.Digest)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), repository+"@"+desc.Digest.String()) {
				t.Errorf("error %v, want %q and the image", err, tc.want)
			}
			if errors.Is(err, ErrNoRelease) == tc.release {
				t.Errorf("%v is ErrNoRelease: %t", err, !tc.release)
			}
		})
	}
}

func TestReadIndexErrors(t *testing.T) {
	m := newMemory()
	shards := m.shards(t, "4.20.5", "amd64", "arm64")
	other := m.shards(t, "4.20.6", "s390x")[0]
	noRelease := m.image(t, spec{layers: [][]entry{baseLayer}})
	inner := m.list(t, shards...)
	both := m.put(manifest.DockerImage, fmt.Appendf(nil, `{"config":{"mediaType":%q},"layers":[],"manifests":[]}`, dockerConfig))
	for _, tc := range []struct {
		name, want string
		root       ocispec.Descriptor
		release    bool
	}{
		{"two releases", `images of two releases: "4.20.5"`, m.list(t, shards[0], shards[1], other), true},
		{"another image", "label io.openshift.release is missing", m.list(t, shards[0], noRelease), false},
		{"an index inside", "an index inside an index", m.list(t, shards[0], inner), false},
		{"nothing", "the index has 0 images", m.list(t), false},
		{"no digest", "invalid", m.list(t, ocispec.Descriptor{Digest: "../../etc"}), true},
		{"index and image", "an image manifest that also lists manifests", both, true},
		{"neither", "reading the manifest", m.put(manifest.DockerImage, []byte("<html>")), true},
	} {
		_, err := Read(t.Context(), m, repository, tc.root.Digest)
		if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, ErrNoRelease) == tc.release {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := Read(t.Context(), m, "quay.io/example/other", shards[0].Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another repository: %v", err)
	}
}
