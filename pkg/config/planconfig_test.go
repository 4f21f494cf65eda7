package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/release"
)

var (
	content = digest.FromString("content")
	other   = digest.FromString("other content")
)

func releaseOf(version string, because ...plan.ReleaseReason) plan.Release {
	return plan.Release{Product: release.OCP, Version: version, Arch: release.DefaultArch, Source: "quay.io/ocp/release:" + version, Reasons: because}
}

func catalogOf(tag, packages string) plan.Catalog {
	return plan.Catalog{
		Source: "quay.io/zoo/index:" + tag, SourceDigest: content,
		Selection: json.RawMessage(`{"catalog": "quay.io/zoo/index:` + tag + `", "packages": [` + packages + `]}`),
	}
}

func fileOf(name, source string, sum digest.Digest) *plan.Plan {
	return &plan.Plan{
		Files:  []plan.File{{Name: name, Origin: "a site", Source: plan.FileScheme + source, SHA256: sum, Digest: sum}},
		Images: []plan.Image{{Source: plan.FileScheme + source, Digest: sum, Reasons: []plan.Reason{{List: "files"}}}},
	}
}

// TestFromPlans checks the mirror stanza and the notes that plans lead to.
func TestFromPlans(t *testing.T) {
	t.Parallel()
	listed := []plan.Reason{{List: "additionalImages"}}
	path := plan.ReleaseReason{Channel: "stable-4.20", Reason: "path"}
	for name, tc := range map[string]struct {
		plans  []*plan.Plan
		pinned bool
		want   string
		notes  []string
	}{
		"charts": {plans: []*plan.Plan{{Charts: []plan.Chart{
			{Name: "web", Version: "1.0.0", Origin: "https://charts.example.com", Source: "https://charts.example.com/web-1.0.0.tgz"},
			{Name: "web", Version: "1.1.0", Origin: "https://charts.example.com", Source: "https://charts.example.com/web-1.1.0.tgz"},
			{Name: "own", Version: "0.1.0", Origin: "/srv/own", Source: "chart:///srv/own"},
		}}}, want: `
helm:
  repositories:
  - url: https://charts.example.com
    charts:
    - name: web
      version: 1.0.0
    - name: web
      version: 1.1.0
  local:
  - path: /srv/own`, notes: []string{"add the values, valuesFiles and imagePaths of charts: a plan does not have them"}},
		"the same chart in two image sets": {plans: []*plan.Plan{
			{Charts: []plan.Chart{{Name: "own", Version: "0.1.0", Origin: "/srv/own", Source: "chart:///srv/own"}}},
			{Charts: []plan.Chart{{Name: "own", Version: "0.1.0", Origin: "/srv/own", Source: "chart:///srv/own"}}},
		}, want: `
helm:
  local:
  - path: /srv/own`, notes: []string{"add the values, valuesFiles and imagePaths of charts: a plan does not have them"}},
		"images with names of their own": {plans: []*plan.Plan{{Images: []plan.Image{
			{Source: "quay.io/org/app:v1", Digest: content, Repository: "org/app", Tags: []string{"v1"}, Reasons: listed},
			{Source: "quay.io/org/app:v2", Digest: other, Repository: "lab/app", Tags: []string{"stable"}, Reasons: listed},
			{Source: "oci:///srv/layout", Digest: other, Repository: "lab/layout", Tags: []string{"v3"}, Reasons: listed},
			{Source: "quay.io/org/bundle:v1", Digest: other, Repository: "org/bundle", Reasons: []plan.Reason{{Catalog: "quay.io/zoo/index:v1"}}},
		}, Blocked: []plan.Blocked{{Pattern: "bad"}, {Pattern: "bad"}}}}, want: `
additionalImages:
- name: quay.io/org/app:v1
- name: quay.io/org/app:v2
  targetRepo: lab/app
  targetTag: stable
- name: oci:///srv/layout
  targetRepo: lab/layout
  targetTag: v3
blockedImages:
- name: bad`},
		"pinned images": {pinned: true, plans: []*plan.Plan{{Images: []plan.Image{
			{Source: "quay.io/org/app:v1", Digest: content, Repository: "org/app", Tags: []string{"v1"}, Reasons: listed},
		}}}, want: `
additionalImages:
- name: quay.io/org/app@` + content.String() + `
  targetTag: v1`},
		"a catalog in two image sets": {plans: []*plan.Plan{
			{Catalogs: []plan.Catalog{catalogOf("v1", `{"name": "otter"}`)}},
			{Catalogs: []plan.Catalog{catalogOf("v1", `{"name": "kelp"}`), catalogOf("v2", `{"name": "kelp"}`)}},
		}, want: `
operators:
- catalog: quay.io/zoo/index:v1
  packages:
  - name: otter
- catalog: quay.io/zoo/index:v2
  packages:
  - name: kelp`, notes: []string{"catalog quay.io/zoo/index:v1 is in several image sets: only the first selection is included"}},
		"a path between releases, with tools": {plans: []*plan.Plan{{
			Releases: []plan.Release{releaseOf("4.20.1", path), {
				Product: release.OCP, Version: "4.20.3", Arch: release.DefaultArch, Reasons: []plan.ReleaseReason{path},
				Tools: []plan.Tool{{Name: "oc", Platform: "linux/amd64"}, {Name: "oc", Platform: "darwin/arm64"}},
			}},
			Images: []plan.Image{{Kind: plan.BootImage, Reasons: []plan.Reason{{List: plan.ToolsList, Name: "metal/iso"}}}},
		}}, want: `
platform:
  channels:
  - name: stable-4.20
    minVersion: 4.20.1
    shortestPath: true
  kubeVirtContainer: true
  tools:
    names:
    - oc
    platforms:
    - linux/amd64
    - darwin/arm64
    bootImages:
    - metal/iso`},
		"a whole channel, pinned": {pinned: true, plans: []*plan.Plan{{Releases: []plan.Release{
			releaseOf("4.20.1", plan.ReleaseReason{Channel: "stable-4.20", Reason: "full"}), releaseOf("4.20.2", plan.ReleaseReason{Channel: "stable-4.20", Reason: "full"}),
		}}}, want: `
platform:
  channels:
  - name: stable-4.20
    minVersion: 4.20.1
    maxVersion: 4.20.2
    full: true`},
		"two single releases": {plans: []*plan.Plan{{Releases: []plan.Release{releaseOf("4.19.1", plan.ReleaseReason{}), releaseOf("4.20.1", plan.ReleaseReason{})}}}, want: `
platform:
  release: quay.io/ocp/release:4.20.1`, notes: []string{"release quay.io/ocp/release:4.19.1 is not included: a configuration names one release"}},
		"a release beside channels": {plans: []*plan.Plan{{Releases: []plan.Release{releaseOf("4.19.1", plan.ReleaseReason{}), releaseOf("4.20.1", path)}}}, want: `
platform:
  channels:
  - name: stable-4.20
    minVersion: 4.20.1
    shortestPath: true`, notes: []string{"release quay.io/ocp/release:4.19.1 is not included: a configuration has either a release or channels"}},
		"a file of two image sets": {plans: []*plan.Plan{
			fileOf("install.sh", "https://example.com/install.sh", content), fileOf("install.sh", "https://example.com/install.sh", content), fileOf("install.sh", plan.LocalFile+"/srv/install.sh", other),
		}, want: `
files:
- url: https://example.com/install.sh
  sha256: ` + content.Encoded() + `
  target: install.sh`, notes: []string{"file install.sh of a site is not included: another image set has a file of this name"}},
	} {
		d, err := configFromPlans(tc.plans, &DraftOptions{Pinned: tc.pinned})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for line := range strings.Lines(string(d.YAML)) {
			if stanza, ok := strings.CutPrefix(line, "  "); ok && !strings.HasPrefix(strings.TrimSpace(stanza), "#") {
				got = append(got, stanza)
			}
		}
		t.Run(name, func(t *testing.T) {
			fail.Diff(t, strings.TrimSpace(tc.want), strings.TrimSpace(strings.Join(got, "")))
			fail.Diff(t, append([]string{}, tc.notes...), d.Notes)
		})
	}
	for text, o := range map[string]*DraftOptions{"the plan selects nothing": {}, "Options.Catalogs is for a mirror without a plan": {Catalogs: map[string]string{"a": "b"}}} {
		if _, err := configFromPlans([]*plan.Plan{{}}, o); err == nil || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("got %v, want %s", err, text)
		}
	}
}
