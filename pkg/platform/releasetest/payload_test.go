package releasetest

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/release"
)

func newFixture(t *testing.T, u Definition) *Platform {
	t.Helper()
	w, err := New(u)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// smallFixture is made once: a Platform does not change, and signing takes a while.
var smallFixture = sync.OnceValues(func() (*Platform, error) { return New(Small()) })

func small(t *testing.T) *Platform {
	t.Helper()
	w, err := smallFixture()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// entry is a file in a layer.
type entry struct {
	name string
	mode int64
	text string
}

func entries(t *testing.T, l v1.Layer) []entry {
	t.Helper()
	rc, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	for tr := tar.NewReader(rc); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{h.Name, h.Mode, string(text)})
	}
}

func layers(t *testing.T, img v1.Image) []v1.Layer {
	t.Helper()
	all, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func unmarshal(t *testing.T, text string, v any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), v); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
}

// TestReleaseImage checks that a release image is the version operator's image with one more layer.
func TestReleaseImage(t *testing.T) {
	t.Parallel()
	w := small(t)
	p := w.Payload("4.20.1-x86_64")
	img, base := p.made[""].(v1.Image), p.made[versionOperator].(v1.Image)
	all := layers(t, img)
	if len(all) != 2 {
		t.Fatalf("%d layers, want 2", len(all))
	}
	lower, err := all[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := layers(t, base)[0].Digest(); err != nil || lower != want {
		t.Errorf("the lower layer is %s, want %s of the version operator", lower, want)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"io.openshift.release":                   "4.20.1",
		"io.openshift.release.base-image-digest": p.Images[versionOperator].String(),
	}, config.Config.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	files, texts := entries(t, all[1]), map[string]string{}
	var names []string
	for i, f := range files {
		mode := int64(0o444)
		if i == 0 {
			mode = 0o777
		}
		if f.mode != mode {
			t.Errorf("%s has mode %o, want %o", f.name, f.mode, mode)
		}
		names = append(names, f.name)
		texts[strings.TrimPrefix(f.name, "release-manifests/")] = f.text
	}
	if want := []string{"release-manifests/", "release-manifests/image-references", "release-manifests/release-metadata"}; !slices.Equal(names[:3], want) {
		t.Errorf("files %q, want them to begin with %q", names, want)
	}

	var references struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Tags []struct {
				Name string
				From struct{ Kind, Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(texts["image-references"]), &references); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tag := range references.Spec.Tags {
		if tag.From.Kind != "DockerImage" {
			t.Errorf("%s is from a %s", tag.Name, tag.From.Kind)
		}
		got[tag.Name] = tag.From.Name
	}
	want := map[string]string{}
	for _, name := range Components() {
		h, err := p.made[name].Digest()
		if err != nil {
			t.Fatal(err)
		}
		want[name] = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@" + h.String()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("image-references (-want +got):\n%s", diff)
	}
	if references.Kind != "ImageStream" || references.Metadata.Name != "4.20.1" {
		t.Errorf("image-references is a %s of %q", references.Kind, references.Metadata.Name)
	}
	if got["ovn-kubernetes"] != got["ovn-kubernetes-microshift"] || got["cli"] == got["rhel-coreos"] {
		t.Errorf("which names share an image: %v", got)
	}

	var metadata map[string]any
	if err := json.Unmarshal([]byte(texts["release-metadata"]), &metadata); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{
		"kind": "cincinnati-metadata-v0", "version": "4.20.1", "previous": []any{"4.19.1", "4.19.2"},
		"metadata": map[string]any{"url": "https://errata.example.com/2025/4.20.1"},
	}, metadata); diff != "" {
		t.Errorf("release-metadata (-want +got):\n%s", diff)
	}

	var policy struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Scopes []string
			Policy struct {
				RootOfTrust struct {
					PolicyType string
					PublicKey  struct{ KeyData []byte }
				}
			}
		}
	}
	unmarshal(t, texts["0000_90_openshift-cluster-image-policy.yaml"], &policy)
	if root := policy.Spec.Policy.RootOfTrust; root.PolicyType != "PublicKey" || string(root.PublicKey.KeyData) != string(w.Keys.Policy) {
		t.Errorf("policy %+v", policy)
	}
	if want := []string{"quay.io/openshift-release-dev/ocp-release", "quay.io/openshift-release-dev/ocp-v4.0-art-dev"}; !slices.Equal(policy.Spec.Scopes, want) {
		t.Errorf("scopes %q, want %q", policy.Spec.Scopes, want)
	}

	below := entries(t, all[0])
	last := below[len(below)-1]
	if last.name != "manifests/0000_00_cluster-version-operator_01_admingate_configmap.yaml" || !strings.Contains(last.text, "ack-4.20-sigstore-in-4.21") {
		t.Errorf("the lower layer ends with %+v, want the gates", last)
	}
}

// TestMulti checks that a payload for all architectures and its components are manifest lists, and
// that each shard refers to the manifest lists.
func TestMulti(t *testing.T) {
	t.Parallel()
	w := small(t)
	p, single := w.Payload("4.20.1-multi"), w.Payload("4.20.1-x86_64")
	list := p.made[""].(v1.ImageIndex)
	m, err := list.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.MediaType != "application/vnd.docker.distribution.manifest.list.v2+json" || len(m.Manifests) != 4 {
		t.Fatalf("%s of %d", m.MediaType, len(m.Manifests))
	}
	var texts []string
	for _, desc := range m.Manifests {
		if p.Shards[release.Arch(desc.Platform.Architecture)].String() != desc.Digest.String() {
			t.Errorf("%s is not the shard for %s: %v", desc.Digest, desc.Platform, p.Shards)
		}
		img, err := list.Image(desc.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil || config.Architecture != desc.Platform.Architecture {
			t.Errorf("the config of %s is for %s (%v)", desc.Platform, config.Architecture, err)
		}
		files := entries(t, layers(t, img)[1])
		texts = append(texts, files[1].text+files[2].text)
	}
	if len(slices.Compact(texts)) != 1 || !strings.Contains(texts[0], `"release.openshift.io/architecture": "multi"`) {
		t.Error("shards differ, or do not say that they are")
	}
	for name, d := range p.Images {
		components, ok := p.made[name].(v1.ImageIndex)
		if !ok {
			t.Fatalf("%s is a %T", name, p.made[name])
		}
		m, err := components.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if d == single.Images[name] || digest.Digest(m.Manifests[0].Digest.String()) != single.Images[name] {
			t.Errorf("%s for amd64 is %s in the list and %s alone", name, m.Manifests[0].Digest, single.Images[name])
		}
	}
}

// TestDigests checks that the bytes depend only on the Definition. The digests cover the whole
// payload.
func TestDigests(t *testing.T) {
	t.Parallel()
	w, again := small(t), newFixture(t, Small())
	for i, p := range w.Payloads {
		if q := again.Payloads[i]; p.Digest != q.Digest {
			t.Errorf("%s is %s and then %s", p.Name, p.Digest, q.Digest)
		}
	}
	for name, want := range map[string]digest.Digest{
		"4.18.1-x86_64": "sha256:cffad77dc33fd9930db36ab72c69775bb2945ad7cc040f1d23e44a7d100a2b6e", "4.20.2-multi": "sha256:0302b0fd1f5b20b53e8a232e90e10f65fa99fa108853ae78c37da3a1d57f83c4",
	} {
		if got := w.Payload(name).Digest; got != want {
			t.Errorf("%s is %s, want %s: update the digests that other tests contain", name, got, want)
		}
	}
	large := Small()
	large.ComponentSize = 4 << 10
	if w.Payload("4.18.1-x86_64").Digest == newFixture(t, large).Payload("4.18.1-x86_64").Digest {
		t.Error("the size of components does not matter")
	}
}

// TestSharedComponents checks that releases share some components, but not all.
func TestSharedComponents(t *testing.T) {
	t.Parallel()
	u := Definition{Releases: []Release{{Version: "4.12.0", Components: Real412()}, {Version: "4.12.1", Components: Real412()}}}
	w := newFixture(t, u)
	first, second := w.Payloads[0], w.Payloads[1]
	if len(first.Images) != 183 {
		t.Errorf("%d components, want 183", len(first.Images))
	}
	same, distinct := 0, map[digest.Digest]bool{}
	for name, d := range first.Images {
		distinct[d] = true
		if second.Images[name] == d {
			same++
		}
	}
	if same < 40 || same > 80 {
		t.Errorf("%d of 183 components stay the same, want about a third", same)
	}
	if want := 183 - len(aliases); len(distinct) != want {
		t.Errorf("%d distinct components, want %d", len(distinct), want)
	}
}

func TestRepositories(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		product                   release.Product
		version, release, content string
	}{
		{"", "4.20.1", "quay.io/openshift-release-dev/ocp-release", "quay.io/openshift-release-dev/ocp-v4.0-art-dev"},
		{release.OCP, "5.0.0", "quay.io/openshift-release-dev/ocp-release", "quay.io/openshift-release-dev/ocp-v5.0-art-dev"},
		{release.OKD, "4.20.0-okd-scos.1", "quay.io/okd/scos-release", "quay.io/okd/scos-content"},
	} {
		w := newFixture(t, Definition{Product: tc.product, Releases: []Release{{Version: tc.version}}})
		if p := w.Payloads[0]; p.Repository != tc.release || p.Content != tc.content {
			t.Errorf("%s %s: %s and %s", tc.product, tc.version, p.Repository, p.Content)
		}
	}
}

func TestBootImages(t *testing.T) {
	t.Parallel()
	p := small(t).Payload("4.20.2-multi")
	img, err := p.made[""].(v1.ImageIndex).Image(v1.Hash{Algorithm: "sha256", Hex: p.Shards["arm64"].Encoded()})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, f := range entries(t, layers(t, img)[1]) {
		if f.name == "release-manifests/0000_50_installer_coreos-bootimages.yaml" {
			text = f.text
		}
	}
	var cm struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
		Data             struct{ ReleaseVersion, Stream string }
	}
	unmarshal(t, text, &cm)
	var stream struct {
		Architectures map[string]struct {
			Images map[string]map[string]string
		}
	}
	if err := json.Unmarshal([]byte(cm.Data.Stream), &stream); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for arch, a := range stream.Architectures {
		got[arch] = a.Images["kubevirt"]["digest-ref"]
	}
	want := map[string]string{
		"x86_64": p.Content + "@" + p.BootImages["amd64"].String(), "s390x": p.Content + "@" + p.BootImages["s390x"].String(),
		"aarch64": "", "ppc64le": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
}

// TestContradictions checks that a Definition with contradictions is refused.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Definition){
		"duplicate release 4.18.1-x86_64":           func(u *Definition) { u.Releases = append(u.Releases, u.Releases[0]) },
		"stable-4.18 has 4.18.7":                    func(u *Definition) { u.Channels = map[string][]string{"stable-4.18": {"4.18.7"}} },
		"update from 4.18.1 to 4.20.2 does not":     func(u *Definition) { u.Blocked[2].From = []string{"4.18.1"} },
		"4.20.2 is blocked twice":                   func(u *Definition) { u.Blocked = append(u.Blocked, u.Blocked[2]) },
		"missing component etcd does not exist":     func(u *Definition) { u.Releases[2].Flaws.Missing = []string{"etcd"} },
		"etcd without sigstore signatures does not": func(u *Definition) { u.Releases[4].Flaws.NoSigstore = []string{"etcd"} },
		"4.18.1: it has Flaws.NoSigstore without":   func(u *Definition) { u.Releases[0].Flaws.NoSigstore = []string{""} },
	} {
		u := Small()
		change(&u)
		if _, err := New(u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
