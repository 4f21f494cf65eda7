package payload

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// The ConfigMap has a duplicate key, as in real releases.
const (
	policyText = "apiVersion: config.openshift.io/v1\nkind: ClusterImagePolicy\nmetadata:\n  name: openshift\n"
	// a CustomResourceDefinition of the kind, which is not a policy
	definitionText = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  names:\n    kind: ClusterImagePolicy\n"
	keysText       = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: release-verification\n  name: release-verification\n  annotations:\n    release.openshift.io/verification-config-map: \"\"\ndata:\n  store-x: https://example.com\n"
)

func TestManifests(t *testing.T) {
	second := strings.Replace(policyText, "openshift\n", "second\n", 1)
	otherKeys := strings.Replace(keysText, "example.com", "example.org", 1)
	m := newMemory()
	s := spec{label: "4.20.5", layers: [][]entry{releaseLayer(t, "4.20.5",
		entry{"release-manifests/0000_90_z.yaml", otherKeys},
		entry{bootFile, string(bootConfigMap(t, `{"architectures":{"aarch64":`+disk(content+"@"+sha("disk").String())+`}}`))},
		entry{"release-manifests/0000_90_b.yml", "---\n# a comment\n---\n" + definitionText + "---\n" + second},
		entry{"release-manifests/0000_90_a.json", `{"apiVersion":"config.openshift.io/v1alpha1","kind":"ClusterImagePolicy"}`},
		entry{"release-manifests/0000_90_c.yaml", keysText + "--- \n" + policyText},
		entry{"release-manifests/0000_10_other.yaml", "apiVersion: example.com/v1\nkind: ClusterImagePolicy\n"},
		entry{"release-manifests/0000_10_secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  annotations:\n    release.openshift.io/verification-config-map: \"\"\n"},
		entry{"release-manifests/notes.txt", policyText},
		entry{"release-manifests/below/policy.yaml", policyText},
		entry{"release-manifests/broken.yaml", "a: ["}, // contains none of the words
	)}}
	p, err := Read(t.Context(), m, repository, m.image(t, s).Digest)
	fail.On(t, err)
	got := elements.Map(p.Policies, func(text []byte) string { return string(text) })
	want := []string{`{"apiVersion":"config.openshift.io/v1alpha1","kind":"ClusterImagePolicy"}`, second, policyText}
	fail.Diff(t, want, got)
	disks, err := p.KubeVirt()
	fail.On(t, err)
	fail.Diff(t, map[release.Arch]string{"arm64": content + "@" + sha("disk").String()}, disks)
	if string(p.SignatureConfig) != keysText {
		t.Errorf("the signature configuration is\n%s", p.SignatureConfig)
	}
}

func TestDocuments(t *testing.T) {
	for text, want := range map[string][]string{
		"":                             nil,
		"---\n---\n\n---":              nil,
		"a: 1":                         {"a: 1"},
		"a: 1\n---\nb: 2\n":            {"a: 1\n", "b: 2\n"},
		"---\r\na: |\r\n ---\r\n--- #": {"a: |\r\n ---\r\n"},
	} {
		got := elements.Map(documents([]byte(text)), func(d []byte) string { return string(d) })
		fail.Diff(t, want, got)
	}
}

// TestDenseManifest checks that a manifest of many empty values is refused before it takes sixty times its size in memory.
func TestDenseManifest(t *testing.T) {
	text := "kind: " + policyKind + "\nx: [" + strings.Repeat("{},", 300_000) + "]\n"
	err := eachObject([]byte(text), func(object, []byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "would take too much memory") {
		t.Errorf("got %.300v", err)
	}
}
