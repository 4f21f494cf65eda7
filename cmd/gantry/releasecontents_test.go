package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/release/query"
	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
)

// contentsDefinition has one release whose manifests depend on capabilities, profiles and feature sets.
func contentsDefinition() releasetest.Definition {
	r := releasetest.Release{
		Version: "4.20.5", Previous: []string{"4.19.7", "4.20.4"}, URL: "https://errata.example.com/1",
		Components: []string{"cli", "cluster-version-operator", "hyperkube", "rhel-coreos"},
		Gates:      map[string]string{"ack-4.20-kube-1.34-api-removals-in-4.21": "Some APIs are removed."},
		Manifests: map[string]string{
			"0000_50_console_01.yaml": `# two objects
apiVersion: v1
kind: Namespace
metadata:
  name: openshift-console
  annotations: {capability.openshift.io/name: Console, include.release.openshift.io/self-managed-high-availability: "true"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: both
  namespace: openshift-console
  annotations: {capability.openshift.io/name: Console+Storage, include.release.openshift.io/self-managed-high-availability: "true"}
`,
			"0000_50_core.yaml":    "apiVersion: v1\nkind: Service\nmetadata: {name: core, annotations: {include.release.openshift.io/self-managed-high-availability: 'true', include.release.openshift.io/ibm-cloud-managed: 'true'}}\n",
			"0000_50_preview.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: preview, annotations: {include.release.openshift.io/self-managed-high-availability: 'true', release.openshift.io/feature-set: 'TechPreviewNoUpgrade,DevPreviewNoUpgrade'}}\n",
			"0000_50_gated.yaml":   "apiVersion: v1\nkind: Service\nmetadata: {name: gated, annotations: {include.release.openshift.io/self-managed-high-availability: 'true', release.openshift.io/feature-gate: 'Shiny,-Dull'}}\n",
			"0000_50_gates.yaml": `apiVersion: config.openshift.io/v1
kind: FeatureGate
metadata: {name: cluster, annotations: {include.release.openshift.io/self-managed-high-availability: "true", release.openshift.io/feature-set: Default}}
status: {featureGates: [{version: 4.20.5, enabled: [{name: Shiny}], disabled: [{name: Dull}]}]}
`,
			"0000_60_credentials.yaml": `apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata: {name: aws, namespace: openshift-cloud-credential-operator, annotations: {include.release.openshift.io/self-managed-high-availability: "true", capability.openshift.io/name: CloudCredential}}
spec: {providerSpec: {kind: AWSProviderSpec}}
---
apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata: {name: gcp, namespace: openshift-cloud-credential-operator}
spec: {providerSpec: {kind: GCPProviderSpec}}
`,
		},
	}
	return releasetest.Definition{Releases: []releasetest.Release{r}, Channels: map[string][]string{"stable-4.20": {"4.20.5"}}}
}

// TestReleaseContents reads a release at its source, by its version, from a mirror, and from an archive
// without a network.
func TestReleaseContents(t *testing.T) {
	t.Parallel()
	w := newPlatformFixture(t, contentsDefinition())
	config := w.config("imageset.yaml", "  platform: {channels: [{name: stable-4.20}]}\n")
	w.must("mirror", "-c", config, w.docker("/ocp"))
	w.must("mirror", "-c", config, "file://"+w.path("disk"))
	p := w.payload("4.20.5-x86_64")

	names := []string{p.Reference(), "docker://" + p.Repository + ":4.20.5-x86_64", "4.20.5", "4.20.5-x86_64", w.docker("/ocp/openshift/release-images:4.20.5-x86_64")}
	var first query.ReleaseInfo
	for i, name := range append(names, "file://"+w.path("disk"), "file://"+w.path("disk")+"#4.20.5") {
		if i == len(names) {
			defer w.unplug()()
		}
		var info query.ReleaseInfo
		if err := json.Unmarshal([]byte(w.must("release", "info", name, "-o", "json").stdout), &info); err != nil {
			t.Fatal(err)
		}
		info.Source = ""
		if i == 0 {
			first = info
		}
		if diff := cmp.Diff(first, info); diff != "" {
			t.Errorf("%s is read as something else: %s", name, diff)
		}
		manifests := w.must("release", "manifests", name).stdout
		if n := strings.Count(manifests, "\nkind: "); n != 10 {
			t.Errorf("%s has %d manifests:\n%s", name, n, manifests)
		}
	}
	want := query.ReleaseInfo{
		Version: 1, Release: "4.20.5", Arch: "amd64", Digest: p.Digest, URL: "https://errata.example.com/1", Previous: []string{"4.19.7", "4.20.4"},
		Metadata:     map[string]string{"url": "https://errata.example.com/1"},
		Software:     []query.Software{{Name: "kubernetes", Version: "1.33.5"}, {Name: "machine-os", Version: "4.20.5", Display: "Red Hat Enterprise Linux CoreOS"}},
		Capabilities: []string{"CloudCredential", "Console", "Storage"}, Profiles: []string{"ibm-cloud-managed", "self-managed-high-availability"},
		FeatureSets: []string{"Default", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade"}, Manifests: 10,
		Gates: []query.ReleaseGate{{
			Name: "ack-4.20-kube-1.34-api-removals-in-4.21", Minor: "4.20", Message: "Some APIs are removed.",
			Command: `oc -n openshift-config patch cm admin-acks --type merge -p '{"data":{"ack-4.20-kube-1.34-api-removals-in-4.21":"true"}}'`,
		}},
	}
	for _, name := range p.Components {
		want.Images = append(want.Images, query.ReleaseImage{Name: name, Image: p.Content + "@" + p.Images[name].String()})
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}

	archive := "file://" + w.path("disk")
	text := w.must("release", "info", archive).stdout
	w.says(text, "Release 4.20.5 for amd64", "kubernetes 1.33.5", "To acknowledge before an update from 4.20", want.Gates[0].Command, "10 manifests", "4 images")
	if got := w.must("release", "images", archive, "cli").stdout; got != p.Content+"@"+p.Images["cli"].String()+"\n" {
		t.Errorf("images prints %q", got)
	}
	if got := w.must("release", "images", archive, "c*", "hyper*").stdout; strings.Count(got, "@sha256:") != 3 {
		t.Errorf("images prints %q", got)
	}
	listed := func(args ...string) string {
		t.Helper()
		var list query.ReleaseManifestList
		if err := json.Unmarshal([]byte(w.must(append([]string{"release"}, append(args, "-o", "json")...)...).stdout), &list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range list.Manifests {
			names = append(names, m.Name)
		}
		return strings.Join(names, " ")
	}
	for _, tc := range []struct{ args, want string }{
		{"manifests --included", "openshift-console both core gated cluster aws gcp"},
		{"manifests --included --capability-set v4.11", "core gated cluster gcp"},
		{"manifests --included --capability-set None --capability Console", "openshift-console core gated cluster gcp"},
		{"manifests --included --feature-set TechPreviewNoUpgrade", "openshift-console both core preview aws gcp"},
		{"manifests --profile ibm-cloud-managed", "core gcp"},
		{"manifests --capability Storage", "openshift-config core gated cluster preview gcp release-verification"},
		{"manifests --file 0000_50_core.yaml", "core"},
		{"manifests --credentials-requests", "aws gcp"},
		{"credentials", "aws gcp"},
		{"credentials --cloud aws", "aws"},
		{"credentials --cloud aws --included --capability-set None", ""},
		{"credentials --cloud vsphere", ""},
	} {
		args := strings.Fields(tc.args)
		got := listed(append([]string{args[0], archive}, args[1:]...)...)
		if sortedWords(got) != sortedWords(tc.want) {
			t.Errorf("%s: got %s, want %s", tc.args, got, tc.want)
		}
	}
	printed := w.must("release", "manifests", archive, "--included", "--capability-set", "None", "--to", w.path("out")).stdout
	if diff := cmp.Diff("0000_50_core.yaml\n0000_50_gated.yaml\n0000_50_gates.yaml\n0000_60_credentials.yaml\nimage-references\nrelease-metadata\n", printed); diff != "" {
		t.Error(diff)
	}
	w.must("release", "credentials", archive, "--cloud", "aws", "--to", w.path("credentials"))
	if diff := cmp.Diff(map[string]string{"0000_60_credentials.yaml": `---
apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata: {name: aws, namespace: openshift-cloud-credential-operator, annotations: {include.release.openshift.io/self-managed-high-availability: "true", capability.openshift.io/name: CloudCredential}}
spec: {providerSpec: {kind: AWSProviderSpec}}
`}, w.tree("credentials")); diff != "" {
		t.Error(diff)
	}
	if text, err := os.ReadFile(w.path("out/release-metadata")); err != nil || !json.Valid(text) {
		t.Errorf("release-metadata: %v %s", err, text)
	}

	for _, tc := range []struct {
		code  int
		args  string
		words string // separated by |
	}{
		{exitUsage, "images " + archive + " hyperkub", `has no image "hyperkub"|did you mean "hyperkube"`},
		{exitUsage, "images " + archive + " [", "syntax error in pattern"},
		{exitUsage, "manifests " + archive + " --capability consol", `did you mean "Console"`},
		{exitUsage, "manifests " + archive + " --capability-set v4.9", "--capability-set|v4.9"},
		{exitUsage, "manifests " + archive + " --profile self-managed", "--profile|self-managed-high-availability"},
		{exitUsage, "manifests " + archive + " --feature-set TechPreview", `--feature-set|TechPreviewNoUpgrade`},
		{exitUsage, "manifests " + archive + " --cloud aws", "--cloud|set --credentials-requests"},
		{exitUsage, "info 4.20", "minor version|gantry list releases --version 4.20"},
		{exitUsage, "credentials " + archive + " --cloud awz", `did you mean "aws"`},
		{exitUsage, "manifests " + archive + " --file 0000_50_cor.yaml", `did you mean "0000_50_core.yaml"`},
		{exitUsage, "info " + archive + "#4.20.6", "has no release 4.20.6|it has 4.20.5-x86_64"},
		{exitUsage, "info " + archive + " --arch arm64", "has no release arm64|4.20.5-x86_64"},
		{exitUsage, "info file://" + w.path("nothing"), "nothing"},
		{exitUsage, "info release", "neither a version nor an image"},
		{exitUsage, "info quay.io/openshift-release-dev/ocp-release", "neither tag nor digest"},
		{exitUsage, "info 4.20.5-x86_64 --arch arm64", "two architectures"},
	} {
		w.refuse(tc.code, strings.Split(tc.words, "|"), append([]string{"release"}, strings.Fields(tc.args)...)...)
	}
}

func sortedWords(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}
