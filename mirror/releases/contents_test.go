package releases_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// annotated returns a manifest with annotations for clusters of the usual profile.
func annotated(kind, name, annotations string) string {
	return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + name + ", annotations: {include.release.openshift.io/self-managed-high-availability: 'true'" + annotations + "}}\n"
}

const awsCredentials = `apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata: {name: aws, namespace: openshift-cloud-credential-operator, annotations: {include.release.openshift.io/self-managed-high-availability: "true", capability.openshift.io/name: CloudCredential}}
spec: {providerSpec: {kind: AWSProviderSpec}}
`

// withContents has one release whose manifests depend on capabilities, profiles and feature sets.
func withContents() releasetest.Definition {
	r := releasetest.Release{
		Version: "4.20.5", Previous: []string{"4.19.7", "4.20.4"}, URL: "https://errata.example.com/1",
		Components: []string{"cli", "cluster-version-operator", "hyperkube", "rhel-coreos"},
		Gates:      map[string]string{"ack-4.20-kube-1.34-api-removals-in-4.21": "Some APIs are removed."},
		Manifests: map[string]string{
			"0000_50_console_01.yaml": "# two objects\n" + annotated("Namespace", "openshift-console", ", capability.openshift.io/name: Console") +
				"---\n" + annotated("ConfigMap", "both", ", capability.openshift.io/name: Console+Storage"),
			"0000_50_core.yaml":    annotated("Service", "core", ", include.release.openshift.io/ibm-cloud-managed: 'true'"),
			"0000_50_preview.yaml": annotated("Service", "preview", ", release.openshift.io/feature-set: 'TechPreviewNoUpgrade,DevPreviewNoUpgrade'"),
			"0000_50_gated.yaml":   annotated("Service", "gated", ", release.openshift.io/feature-gate: 'Shiny,-Dull'"),
			"0000_50_gates.yaml": strings.Replace(annotated("FeatureGate", "cluster", ", release.openshift.io/feature-set: Default"), "v1", "config.openshift.io/v1", 1) +
				"status: {featureGates: [{version: 4.20.5, enabled: [{name: Shiny}], disabled: [{name: Dull}]}]}\n",
			"0000_60_credentials.yaml": awsCredentials + `---
apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata: {name: gcp, namespace: openshift-cloud-credential-operator}
spec: {providerSpec: {kind: GCPProviderSpec}}
`,
		},
	}
	return releasetest.Definition{Releases: []releasetest.Release{r}, Channels: map[string][]string{"stable-4.20": {"4.20.5"}}}
}

// TestReleaseSources reads a release at its source, by its version, from a mirror, and from an archive without a network.
func TestReleaseSources(t *testing.T) {
	t.Parallel()
	p := mirrortest.NewPlatform(t, withContents())
	config := p.Config("imageset.yaml", "  platform: {channels: [{name: stable-4.20}]}\n")
	p.Mirrored(config, p.Docker("ocp"))
	disk := p.Exported(config, "disk")
	payload := p.Payload("4.20.5-x86_64")
	read := func(name string) *releases.ReleaseInfo {
		t.Helper()
		o := releases.ReleaseOptions{Env: p.Env, Workspace: p.Workspace(), Release: name}
		info, err := releases.ReadRelease(t.Context(), o)
		fail.On(t, err)
		list, err := releases.ReleaseManifests(t.Context(), releases.ManifestOptions{ReleaseOptions: o})
		if err != nil || len(list.Manifests) != 10 {
			t.Errorf("%s has %d manifests, %v", name, len(list.Manifests), err)
		}
		info.Source = ""
		return info
	}
	first := read(payload.Reference())
	names := []string{"docker://" + payload.Repository + ":4.20.5-x86_64", "4.20.5", "4.20.5-x86_64", p.Docker("ocp/openshift/release-images:4.20.5-x86_64")}
	for _, name := range names {
		if diff := cmp.Diff(first, read(name)); diff != "" {
			t.Errorf("%s is read as something else: %s", name, diff)
		}
	}
	defer p.Unplug()()
	for _, name := range []string{disk, disk + "#4.20.5"} {
		if diff := cmp.Diff(first, read(name)); diff != "" {
			t.Errorf("%s is read as something else: %s", name, diff)
		}
	}
	want := &releases.ReleaseInfo{
		Version: 1, Release: "4.20.5", Arch: "amd64", Digest: payload.Digest, URL: "https://errata.example.com/1", Previous: []string{"4.19.7", "4.20.4"},
		Metadata:     map[string]string{"url": "https://errata.example.com/1"},
		Software:     []releases.Software{{Name: "kubernetes", Version: "1.33.5"}, {Name: "machine-os", Version: "4.20.5", Display: "Red Hat Enterprise Linux CoreOS"}},
		Capabilities: []string{"CloudCredential", "Console", "Storage"}, Profiles: []string{"ibm-cloud-managed", "self-managed-high-availability"},
		FeatureSets: []string{"Default", "DevPreviewNoUpgrade", "TechPreviewNoUpgrade"}, Manifests: 10,
		Gates: []releases.ReleaseGate{{
			Name: "ack-4.20-kube-1.34-api-removals-in-4.21", Minor: "4.20", Message: "Some APIs are removed.",
			Command: `oc -n openshift-config patch cm admin-acks --type merge -p '{"data":{"ack-4.20-kube-1.34-api-removals-in-4.21":"true"}}'`,
		}},
	}
	for _, name := range payload.Components {
		want.Images = append(want.Images, releases.ReleaseImage{Name: name, Image: payload.Content + "@" + payload.Images[name].String()})
	}
	fail.Diff(t, want, first)
	for words, o := range map[string]releases.ReleaseOptions{
		"gantry list releases --version 4.20": {Release: "4.20"},
		"has no release 4.20.6":               {Release: disk + "#4.20.6"},
		"has no release arm64":                {Release: disk, Arch: "arm64"},
		"nothing":                             {Release: p.Archive("nothing")},
		"neither a version nor an image":      {Release: "release"},
		"neither tag nor digest":              {Release: "quay.io/openshift-release-dev/ocp-release"},
		"two architectures":                   {Release: "4.20.5-x86_64", Arch: "arm64"},
	} {
		o.Env, o.Workspace = p.Env, p.Workspace()
		_, err := releases.ReadRelease(t.Context(), o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestReleaseContents selects images and manifests of a release.
func TestReleaseContents(t *testing.T) {
	t.Parallel()
	p := mirrortest.NewPlatform(t, withContents())
	payload := p.Payload("4.20.5-x86_64")
	release := releases.ReleaseOptions{Env: p.Env, Workspace: p.Workspace(), Release: payload.Reference()}
	for patterns, want := range map[string]string{"cli": "cli", "c* hyper*": "cli cluster-version-operator hyperkube"} {
		list, err := releases.ReleaseImages(t.Context(), release, strings.Fields(patterns))
		fail.On(t, err)
		var names []string
		for _, i := range list.Images {
			if names = append(names, i.Name); i.Image != payload.Content+"@"+payload.Images[i.Name].String() {
				t.Errorf("%s is %s", i.Name, i.Image)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s selects %s, want %s", patterns, got, want)
		}
	}
	selected := func(o releases.ManifestOptions) (*releases.ReleaseManifestList, error) {
		o.ReleaseOptions = release
		return releases.ReleaseManifests(t.Context(), o)
	}
	for _, tc := range []struct {
		o    releases.ManifestOptions
		want string
	}{
		{releases.ManifestOptions{Included: true}, "aws both cluster core gated gcp openshift-console"},
		{releases.ManifestOptions{Included: true, CapabilitySet: "v4.11"}, "cluster core gated gcp"},
		{releases.ManifestOptions{Included: true, CapabilitySet: "None", Capabilities: []string{"Console"}}, "cluster core gated gcp openshift-console"},
		{releases.ManifestOptions{Included: true, FeatureSet: "TechPreviewNoUpgrade"}, "aws both core gcp openshift-console preview"},
		{releases.ManifestOptions{Profile: "ibm-cloud-managed"}, "core gcp"},
		{releases.ManifestOptions{Capabilities: []string{"Storage"}}, "cluster core gated gcp openshift-config preview release-verification"},
		{releases.ManifestOptions{File: "0000_50_core.yaml"}, "core"},
		{releases.ManifestOptions{CredentialsRequests: true}, "aws gcp"},
		{releases.ManifestOptions{CredentialsRequests: true, Cloud: "aws"}, "aws"},
		{releases.ManifestOptions{CredentialsRequests: true, Cloud: "aws", Included: true, CapabilitySet: "None"}, ""},
		{releases.ManifestOptions{CredentialsRequests: true, Cloud: "vsphere"}, ""},
	} {
		list, err := selected(tc.o)
		fail.On(t, err)
		names := elements.Map(list.Manifests, func(m releases.ReleaseManifest) string { return m.Name })
		slices.Sort(names)
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("%+v: got %s, want %s", tc.o, got, tc.want)
		}
	}
	written := func(o releases.ManifestOptions, dir string) []string {
		t.Helper()
		list, err := selected(o)
		fail.On(t, err)
		names, err := list.WriteFiles(p.Path(dir))
		fail.On(t, err)
		return names
	}
	files := written(releases.ManifestOptions{Included: true, CapabilitySet: "None"}, "out")
	fail.Diff(t, []string{"0000_50_core.yaml", "0000_50_gated.yaml", "0000_50_gates.yaml", "0000_60_credentials.yaml", "image-references", "release-metadata"}, files)
	if text, err := os.ReadFile(p.Path("out/release-metadata")); err != nil || !json.Valid(text) {
		t.Errorf("release-metadata: %v %s", err, text)
	}
	aws := releases.ManifestOptions{CredentialsRequests: true, Cloud: "aws"}
	fail.Diff(t, []string{"0000_60_credentials.yaml"}, written(aws, "credentials"))
	text, err := os.ReadFile(p.Path("credentials/0000_60_credentials.yaml"))
	if diff := cmp.Diff("---\n"+awsCredentials, string(text)); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	var stream bytes.Buffer
	if list, err := selected(aws); err != nil || list.WriteYAML(&stream) != nil || stream.String() != string(text) {
		t.Errorf("%v, %s", err, stream.String())
	}
	for words, patterns := range map[string][]string{`did you mean "hyperkube"`: {"hyperkub"}, "syntax error in pattern": {"["}} {
		_, err := releases.ReleaseImages(t.Context(), release, patterns)
		mirrortest.Refused(t, err, advice.Input, words)
	}
	for words, o := range map[string]releases.ManifestOptions{
		`did you mean "Console"`:           {Capabilities: []string{"consol"}},
		`Options.CapabilitySet "v4.9"`:     {CapabilitySet: "v4.9"},
		"self-managed-high-availability":   {Profile: "self-managed"},
		"TechPreviewNoUpgrade":             {FeatureSet: "TechPreview"},
		"Options.CredentialsRequests":      {Cloud: "aws"},
		`did you mean "aws"`:               {CredentialsRequests: true, Cloud: "awz"},
		`did you mean "0000_50_core.yaml"`: {File: "0000_50_cor.yaml"},
	} {
		_, err := selected(o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestReleaseSizes checks that a release has the size of its plan, and that a payload that cannot be read only leaves
// out the size.
func TestReleaseSizes(t *testing.T) {
	t.Parallel()
	p := mirrortest.SmallPlatform(t)
	config := p.Config("imageset.yaml", "  platform:\n    channels: [{name: stable-4.20, minVersion: 4.19.2, maxVersion: 4.19.2}]\n")
	planned := p.Planned(config)
	sizes := func() (found []int64) {
		t.Helper()
		l, err := releases.Releases(t.Context(), releases.ListOptions{Env: p.Env, Channel: "stable-4.20", ReleaseQuery: releases.ReleaseQuery{From: []string{"4.19.1"}}, Sizes: true})
		fail.On(t, err)
		found = append(found, elements.Map(l.Channels[0].Releases, func(r releases.ListedRelease) int64 { return r.Size })...)
		return found
	}
	if got := sizes(); len(got) != 2 || got[0] == 0 || got[1] != planned.Totals.Bytes {
		t.Errorf("the sizes are %v, the plan of the second has %d bytes", got, planned.Totals.Bytes)
	}
	p.Source.Script(registrytest.Rule{Method: http.MethodGet, Path: "/manifests/", Action: registrytest.Status(http.StatusNotFound)})
	p.Said()
	if got := sizes(); got[0]+got[1] != 0 || !strings.Contains(strings.Join(p.Said(), "\n"), "the size of release 4.20.1 is unknown: ") {
		t.Errorf("the sizes are %v", got)
	}
}
