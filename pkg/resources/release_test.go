package resources

import (
	"bytes"
	_ "crypto/sha512" // digests of tests
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// platform returns a mirror of two releases, one of them with two signatures.
func platform(t testing.TB) Platform {
	return Platform{
		Signatures: []Signed{
			{digest.FromString("b"), [][]byte{[]byte("one\x00"), []byte("two\xff")}},
			{digest.FromString("a"), [][]byte{[]byte("three")}},
		},
		Releases:  ref(t, "mirror.local:5000/ocp/openshift/release-images:4.20.5-x86_64"),
		GraphData: ref(t, "mirror.local:5000/ocp/openshift/graph-image:latest#g"),
	}
}

func TestBuildPlatform(t *testing.T) {
	files, err := BuildPlatform(platform(t))
	fail.On(t, err)
	got := map[string]string{}
	for _, f := range files {
		got[f.Name] = string(f.Text)
	}
	a, b := digest.FromString("a").Encoded(), digest.FromString("b").Encoded()
	want := map[string]string{
		"signature-sha256-" + a[:16] + ".json": `{
  "apiVersion": "v1",
  "kind": "ConfigMap",
  "metadata": {
    "name": "sha256-` + a + `",
    "namespace": "openshift-config-managed",
    "labels": {
      "release.openshift.io/verification-signatures": ""
    }
  },
  "binaryData": {
    "sha256-` + a + `-1": "dGhyZWU="
  }
}
`,
		"signature-sha256-" + b[:16] + ".json": `{
  "apiVersion": "v1",
  "kind": "ConfigMap",
  "metadata": {
    "name": "sha256-` + b + `",
    "namespace": "openshift-config-managed",
    "labels": {
      "release.openshift.io/verification-signatures": ""
    }
  },
  "binaryData": {
    "sha256-` + b + `-1": "b25lAA==",
    "sha256-` + b + `-2": "dHdv/w=="
  }
}
`,
		"update-service-oc-mirror.yaml": `apiVersion: updateservice.operator.openshift.io/v1
kind: UpdateService
metadata:
  name: update-service-oc-mirror
  namespace: openshift-update-service
spec:
  replicas: 2
  releases: mirror.local:5000/ocp/openshift/release-images
  graphDataImage: mirror.local:5000/ocp/openshift/graph-image@` + digest.FromString("g").String() + `
`,
	}
	fail.Diff(t, want, got)
	if !slices.IsSortedFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the files are not sorted")
	}
	// The operator makes a host name from this, in which it is one label.
	if host := updateServiceName + "-route-" + updateServiceNamespace; len(host) > maxName {
		t.Errorf("%s has %d characters", host, len(host))
	}

	// The order and duplicates make no difference. Build does not change its input.
	other := platform(t)
	slices.Reverse(other.Signatures)
	other.Signatures = append(other.Signatures, other.Signatures[0])
	given := slices.Clone(other.Signatures)
	again, err := BuildPlatform(other)
	fail.On(t, err)
	fail.Diff(t, files, again)
	fail.Diff(t, given, other.Signatures)
	other.GraphData.Host = ""
	if some, err := BuildPlatform(other); err != nil || len(some) != 2 {
		t.Errorf("without graph data: %d files, %v", len(some), err)
	}
	if none, err := BuildPlatform(Platform{}); err != nil || len(none) != 0 {
		t.Errorf("nothing: %d files, %v", len(none), err)
	}
}

// TestSignatureConfigMap reads the ConfigMap as the API server and the cluster-version operator do.
func TestSignatureConfigMap(t *testing.T) {
	body := bytes.Repeat([]byte{0, 0xff, '\n'}, 400)
	d := digest.FromString("x")
	files, err := BuildPlatform(Platform{Signatures: []Signed{{d, slices.Repeat([][]byte{body}, 9)}}})
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	var m struct {
		Metadata struct {
			Name   string
			Labels map[string]string
		}
		BinaryData map[string][]byte
	}
	fail.On(t, json.Unmarshal(files[0].Text, &m))
	if !regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`).MatchString(m.Metadata.Name) {
		t.Errorf("name %q", m.Metadata.Name)
	}
	key := regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
	for k, v := range m.BinaryData {
		if !key.MatchString(k) || !strings.HasPrefix(k, "sha256-"+d.Encoded()) || !bytes.Equal(v, body) {
			t.Errorf("key %q has %d bytes", k, len(v))
		}
	}
	fail.Diff(t, 9, len(m.BinaryData))
}

func TestBuildPlatformErrors(t *testing.T) {
	alike := digest.NewDigestFromEncoded(digest.SHA256, digest.FromString("a").Encoded()[:32]+strings.Repeat("0", 32))
	for _, tc := range []struct {
		name   string
		change func(*Platform)
		want   string
	}{
		{"no digest", func(p *Platform) { p.Signatures[0].Digest = "" }, `"" is not a sha256 digest`},
		{"another algorithm", func(p *Platform) { p.Signatures[0].Digest = digest.SHA512.FromString("a") }, "is not a sha256 digest"},
		{"no signature", func(p *Platform) { p.Signatures[0].Signatures = nil }, "none given"},
		{"an empty signature", func(p *Platform) { p.Signatures[0].Signatures[1] = nil }, "number 2 is empty"},
		{"two lists", func(p *Platform) { p.Signatures[0].Digest = p.Signatures[1].Digest }, "given twice and differ"},
		{"digests that begin alike", func(p *Platform) { p.Signatures[0].Digest = alike }, "begin alike"},
		{"too much", func(p *Platform) { p.Signatures[0].Signatures[1] = make([]byte, 200_000) }, "the limit of `oc apply` is 250000"},
		{"a graph by tag", func(p *Platform) { p.GraphData.Digest = "" }, "the digest of the graph data mirror.local:5000/ocp/openshift/graph-image:latest is unknown"},
	} {
		p := platform(t)
		tc.change(&p)
		if files, err := BuildPlatform(p); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want %q, got %d files, %v", tc.name, tc.want, len(files), err)
		}
	}
}

func TestSignatureTree(t *testing.T) {
	files, err := SignatureTree("signatures", platform(t).Signatures)
	fail.On(t, err)
	a, b := digest.FromString("a").Encoded(), digest.FromString("b").Encoded()
	want := []File{
		{"signatures/sha256=" + b + "/signature-1", []byte("one\x00")},
		{"signatures/sha256=" + b + "/signature-2", []byte("two\xff")},
		{"signatures/sha256=" + a + "/signature-1", []byte("three")},
	}
	slices.SortFunc(want, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	fail.Diff(t, want, files)
	if _, err := SignatureTree("signatures", []Signed{{}}); err == nil {
		t.Error("signatures of nothing were written")
	}
	if got := GraphName("stable-4.20", release.Multi); got != "graph-stable-4.20-multi.json" {
		t.Error(got)
	}
}

// TestReleaseScopes checks for the pairs of source and mirror that clusters and install-config use:
// one for the payloads, and one for each repository of components.
func TestReleaseScopes(t *testing.T) {
	var images []Image
	for _, s := range []string{
		"quay.io/openshift-release-dev/ocp-release@sha256 -> R:5000/p/openshift/release-images:4.20.5-x86_64",
		"quay.io/openshift-release-dev/ocp-release@sha256 -> R:5000/p/openshift/release-images:4.20.6-x86_64",
		"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256 -> R:5000/p/openshift/release:4.20.5-x86_64-etcd",
		"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256 -> R:5000/p/openshift/release:4.20.5-x86_64-cli",
		"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256 -> R:5000/p/openshift/release:4.20.5-x86_64-kube-virt-container",
		"quay.io/openshift-release-dev/ocp-v5.0-art-dev@sha256 -> R:5000/p/openshift/release:5.0.0-x86_64-cli",
		"quay.io/okd/scos-release@sha256 -> R:5000/p/openshift/release-images:4.20.0-okd-scos.1",
		"quay.io/okd/scos-content@sha256 -> R:5000/p/openshift/release:4.20.0-okd-scos.1-cli",
	} {
		source, mirror, _ := strings.Cut(s, "@sha256 -> ")
		images = append(images, img(t, source+"#"+mirror+" -> "+mirror+"#"+mirror+" release"))
	}
	// Other images from the same hosts have their own entries.
	images = append(images, img(t, "quay.io/openshift-release-dev/tool#t -> R:5000/p/openshift-release-dev/tool#t"),
		img(t, "quay.io/okd/operator:v1 -> R:5000/p/okd/operator:v1 generic"))
	for _, policy := range []string{"", neverContactSource} {
		files, notes, err := Build(images, nil, Options{MirrorSourcePolicy: policy})
		if err != nil || len(notes) > 0 {
			t.Fatal(err, notes)
		}
		want := []string{
			"idms-operator quay.io/openshift-release-dev -> R:5000/p/openshift-release-dev",
			"idms-release quay.io/okd/scos-content -> R:5000/p/openshift/release",
			"idms-release quay.io/okd/scos-release -> R:5000/p/openshift/release-images",
			"idms-release quay.io/openshift-release-dev/ocp-release -> R:5000/p/openshift/release-images",
			"idms-release quay.io/openshift-release-dev/ocp-v4.0-art-dev -> R:5000/p/openshift/release",
			"idms-release quay.io/openshift-release-dev/ocp-v5.0-art-dev -> R:5000/p/openshift/release",
			"itms-generic quay.io/okd -> R:5000/p/okd",
		}
		fail.Diff(t, want, rules(t, files))
		if lost := checkPulls(t, images, files, notes); len(lost) > 0 {
			t.Errorf("pulls that end nowhere: %v", lost)
		}
	}
}

func TestPlatformCRD(t *testing.T) {
	files, err := BuildPlatform(platform(t))
	fail.On(t, err)
	service := files[len(files)-1]
	broken := func(old, with string) File {
		text := strings.Replace(string(service.Text), old, with, 1)
		if text == string(service.Text) {
			t.Fatalf("the manifest does not hold %q", old)
		}
		return File{service.Name, []byte(text)}
	}
	checkCRDs(t, []File{service}, []File{broken("replicas: 2", "replicas: 0"), broken("  releases:", "  release:"), broken("replicas: 2", "replicas: two")},
		[]string{"spec.replicas", "spec.releases", "spec.replicas"})
}
