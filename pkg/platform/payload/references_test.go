package payload

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
)

func TestParseReferences(t *testing.T) {
	a, b := sha("a").String(), sha("b").String()
	const head = `{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"4.20.5"},"spec":{"tags":[`
	tag := func(name, kind, ref string) string {
		return `{"name":"` + name + `","from":{"kind":"` + kind + `","name":"` + ref + `"},"generation":null}`
	}
	for _, tc := range []struct {
		name, tags string
		want       []Component
		err        string
	}{
		{"one", tag("etcd", "DockerImage", "quay.io/x/y@"+a), []Component{{[]string{"etcd"}, "quay.io/x/y@" + a, sha("a")}}, ""},
		{"several names, in any order", tag("z", "DockerImage", "quay.io/x/y@"+a) + "," + tag("m", "DockerImage", "quay.io/x/y@"+b) + "," + tag("a", "DockerImage", "quay.io/x/y@"+a),
			[]Component{{[]string{"a", "z"}, "quay.io/x/y@" + a, sha("a")}, {[]string{"m"}, "quay.io/x/y@" + b, sha("b")}}, ""},
		{"one image in two repositories", tag("b", "DockerImage", "quay.io/x/y@"+a) + "," + tag("a", "DockerImage", "quay.io/x/z@"+a),
			[]Component{{[]string{"a"}, "quay.io/x/z@" + a, sha("a")}, {[]string{"b"}, "quay.io/x/y@" + a, sha("a")}}, ""},
		{"another kind", tag("s", "ImageStreamTag", "x:y") + "," + tag("etcd", "DockerImage", "quay.io/x/y@"+a), []Component{{[]string{"etcd"}, "quay.io/x/y@" + a, sha("a")}}, ""},
		{"no source", `{"name":"s","from":null},` + tag("etcd", "DockerImage", "quay.io/x/y@"+a), []Component{{[]string{"etcd"}, "quay.io/x/y@" + a, sha("a")}}, ""},
		{"a tag", tag("etcd", "DockerImage", "quay.io/x/y:v1"), nil, `component "etcd": image reference "quay.io/x/y:v1" has a tag`},
		{"a tag and a digest", tag("etcd", "DockerImage", "quay.io/x/y:v1@"+a), nil, "has a tag"},
		{"no digest", tag("etcd", "DockerImage", "quay.io/x/y"), nil, "has no digest"},
		{"a short digest", tag("etcd", "DockerImage", "quay.io/x/y@sha256:12"), nil, "invalid"},
		{"no name", tag("", "DockerImage", "quay.io/x/y@"+a), nil, "a component has no name"},
		{"a name twice", tag("etcd", "DockerImage", "quay.io/x/y@"+a) + "," + tag("etcd", "DockerImage", "quay.io/x/y@"+b), nil, `"etcd" occurs twice`},
		{"no image", tag("s", "ImageStreamTag", "x:y"), nil, "no images listed"},
	} {
		name, got, _, err := parseReferences([]byte(head + tc.tags + "]}}"))
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error %v, want %q", tc.name, err, tc.err)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); err != nil || name != "4.20.5" || diff != "" {
			t.Errorf("%s: %q, %v (-want +got):\n%s", tc.name, name, err, diff)
		}
	}
	for text, want := range map[string]string{
		`{"kind":"List","apiVersion":"v1"}`:                           `kind "List" of "v1"`,
		`{"kind":"ImageStream","apiVersion":"v1"}`:                    `of "v1"`,
		`{"kind":"ImageStream","kind":"List"}`:                        "duplicate",
		`{"kind":"ImageStream","apiVersion":"image.openshift.io/v1"}`: "no images listed",
		`{"kind":`: "EOF", ``: "EOF", `[]`: "array",
	} {
		if _, _, _, err := parseReferences([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// shared returns a file of the real releases beside the checkout.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "releases", filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no ../shared/releases beside the checkout")
	}
	must(t, err)
	return data
}

// TestRealRelease checks the content of OpenShift 4.12.0, read from an image with the same layout.
func TestRealRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	const root = "ocp-4.12.0-x86_64/"
	m := newMemory()
	policy := shared(t, "keys/0000_90_openshift-cluster-image-policy.yaml")
	keys := shared(t, "keys/0000_90_cluster-update-keys_configmap.yaml")
	desc := m.image(t, spec{label: "4.12.0", layers: [][]entry{baseLayer, operatorLayer, {
		{referencesFile, string(shared(t, root+"image-references"))},
		{metadataFile, string(shared(t, root+"release-metadata"))},
		{bootFile, string(shared(t, "bootimages/0000_50_installer_coreos-bootimages.yaml"))},
		{"release-manifests/0000_90_openshift-cluster-image-policy.yaml", string(policy)},
		{"release-manifests/0000_90_cluster-update-keys_configmap.yaml", string(keys)},
	}}})
	p, err := Read(t.Context(), m, repository, desc.Digest)
	must(t, err)
	if diff := cmp.Diff([]SoftwareVersion{{"kubernetes", "1.25.4", ""}, {"machine-os", "412.86.202301061548-0", "Red Hat Enterprise Linux CoreOS"}}, p.Versions); diff != "" || p.VersionOf("kubernetes") != "1.25.4" {
		t.Error(diff)
	}
	if p.Version != "4.12.0" || len(p.Components) != 183 || len(p.Previous) != 21 || p.URL != "https://access.redhat.com/errata/RHSA-2022:7399" {
		t.Errorf("release %s has %d components, %d versions before it and URL %s", p.Version, len(p.Components), len(p.Previous), p.URL)
	}
	digests := map[string]bool{}
	names := map[string]bool{}
	for _, c := range p.Components {
		digests[c.Digest.String()] = true
		for _, n := range c.Names {
			names[n] = true
		}
	}
	if len(digests) != 183 || len(names) != 183 || !names["machine-os-content"] || !names["rhel-coreos-8"] {
		t.Errorf("%d digests and %d names", len(digests), len(names))
	}
	for _, c := range p.Components {
		if c.Ref != "quay.io/openshift-release-dev/ocp-v4.0-art-dev@"+c.Digest.String() {
			t.Errorf("component %s is %s", c.Names, c.Ref)
		}
	}
	if len(p.Policies) != 1 || string(p.Policies[0]) != string(policy) {
		t.Errorf("%d policies", len(p.Policies))
	}
	// The namespace occurs twice. Kubernetes accepts that, so it has to be accepted here.
	if string(p.SignatureConfig) != string(keys) || strings.Count(string(keys), "namespace: openshift-config-managed") != 2 {
		t.Errorf("the signature configuration is %.100s", p.SignatureConfig)
	}
	// The digest for s390x is fictitious.
	if _, err := p.KubeVirt(); err == nil || !strings.Contains(err.Error(), `"s390x"`) {
		t.Errorf("error %v", err)
	}
	p.BootImages = []byte(strings.ReplaceAll(string(p.BootImages), "sha256:"+strings.Repeat("s390x", 12)+"s390", sha("s390x").String()))
	images, err := p.KubeVirt()
	must(t, err)
	const repo = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@"
	got, want := map[string]string{}, map[string]string{
		"amd64": repo + "sha256:729265d5ef6ed6a45bcd55c46877e3acb9eae3f49c78cd795d5b53aa85e3775b", "s390x": repo + sha("s390x").String(),
	}
	for arch, ref := range images {
		got[string(arch)] = ref
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzReferences checks that accepted references can be written and read again.
func FuzzReferences(f *testing.F) {
	f.Add([]byte(references(f, "4.20.5", "etcd=a", "cli=b", "tools=b")))
	f.Add([]byte(`{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","spec":{"tags":[{"name":"a","from":{"kind":"DockerImage","name":"a@` + sha("a").String() + `"}}]}}`))
	f.Add([]byte(`{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","spec":{"tags":[{"name":"a","from":null}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		name, components, versions, err := parseReferences(data)
		if err != nil {
			return
		}
		for _, v := range versions {
			if _, err := semver.Parse(v.Version); err != nil || v.Name == "" {
				t.Fatalf("version %+v", v)
			}
		}
		var s imageStream
		s.Kind, s.APIVersion, s.Metadata.Name = "ImageStream", "image.openshift.io/v1", name
		for _, c := range components {
			if !strings.HasSuffix(c.Ref, "@"+c.Digest.String()) || len(c.Names) == 0 {
				t.Fatalf("component %+v", c)
			}
			for _, n := range c.Names {
				s.Spec.Tags = append(s.Spec.Tags, imageTag{Name: n, From: imageFrom{Kind: "DockerImage", Name: c.Ref}})
			}
		}
		text, err := json.Marshal(s)
		must(t, err)
		again, got, _, err := parseReferences(text)
		if diff := cmp.Diff(components, got); err != nil || again != name || diff != "" {
			t.Fatalf("%s is read as %q, %v (-read +again):\n%s", text, again, err, diff)
		}
	})
}
