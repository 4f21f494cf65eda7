package operator_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/cluster/operator"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// heronBundle returns the files of a bundle, and their labels.
func heronBundle(t *testing.T, version string) (labels, files map[string]string) {
	t.Helper()
	const prefix = "operators.operatorframework.io.bundle."
	labels = map[string]string{prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/", prefix + "package.v1": "heron", prefix + "channels.v1": "stable"}
	annotations, err := json.Marshal(map[string]any{"annotations": labels})
	fail.On(t, err)
	return labels, map[string]string{
		"metadata/annotations.yaml": string(annotations),
		"manifests/csv.yaml": `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: heron.v` + version + `
  annotations: {operatorframework.io/suggested-namespace: heron-nest}
spec:
  version: ` + version + `
  installModes: [{type: AllNamespaces, supported: true}, {type: SingleNamespace, supported: true}]
  customresourcedefinitions:
    owned: [{name: fish.heron.example.com, version: v1, kind: Fish}]
  install:
    strategy: deployment
    spec:
      deployments: [{name: heron, spec: {template: {spec: {containers: [{name: manager, image: "registry.example.com/heron/manager:v1"}]}}}}]
      permissions:
      - serviceAccountName: heron
        rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, update]}]
`,
		"manifests/fish.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fish.heron.example.com}
spec: {group: heron.example.com, names: {kind: Fish, plural: fish}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}
`,
	}
}

// heronSource pushes two bundles and their image, and returns a configuration that mirrors them.
func heronSource(s *mirrortest.Site) (config string) {
	s.T.Helper()
	manager, err := registrytest.Image("heron/manager")
	fail.On(s.T, err)
	s.Push("registry.example.com/heron/manager:v1", manager)
	text := "schema: olm.package\nname: heron\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: heron\nname: stable\nentries: [{name: heron.v1.0.0}, {name: heron.v1.1.0, replaces: heron.v1.0.0}]\n"
	for _, version := range []string{"1.0.0", "1.1.0"} {
		labels, files := heronBundle(s.T, version)
		s.Push("registry.example.com/heron/bundle:v"+version, mirrortest.FileImage(s.T, v1.Config{Labels: labels}, files))
		text += fmt.Sprintf(`---
schema: olm.bundle
package: heron
name: heron.v%[1]s
image: registry.example.com/heron/bundle:v%[1]s
relatedImages: [{name: manager, image: "registry.example.com/heron/manager:v1"}]
properties:
- {type: olm.package, value: {packageName: heron, version: %[1]s}}
- {type: olm.csv.metadata, value: {installModes: [{type: AllNamespaces, supported: true}]}}
`, version)
	}
	if err := os.Mkdir(s.Path("heron-index"), 0o700); err != nil {
		s.T.Fatal(err)
	}
	s.Write("heron-index/catalog.yaml", text)
	template := s.Write("cc.yaml", "apiVersion: olm.operatorframework.io/v1\nkind: ClusterCatalog\nmetadata: {name: herons}\n")
	return s.Config("imageset.yaml", "  operators:\n  - catalog: dir://"+s.Path("heron-index")+"\n    full: true\n    targetTag: v4.20\n    targetClusterCatalogTemplate: "+template+"\n")
}

// A heronry is a site with a mirrored operator: in the mirror, on a disk and as a layout.
type heronry struct {
	*mirrortest.Site
	disk, layout string
}

func newHeronry(t *testing.T) *heronry {
	t.Helper()
	s := mirrortest.Empty(t)
	config := heronSource(s)
	_, err := operator.NewInstall(t.Context(), operator.InstallOptions{Env: s.Env, Workspace: s.Workspace(), Package: "heron"})
	mirrortest.Refused(t, err, advice.Input, "was not used for a mirror")
	h := &heronry{s, s.Exported(config, "disk"), "oci://" + s.Path("layout")}
	s.Mirrored(config, s.Docker("m"))
	s.Mirrored(config, h.layout)
	return h
}

// install returns what installs heron.
func (h *heronry) install(o operator.InstallOptions) (*operator.Install, error) {
	o.Env = h.Env
	if o.Workspace == "" {
		o.Workspace = h.Workspace()
	}
	if o.Package == "" {
		o.Package = "heron"
	}
	return operator.NewInstall(h.T.Context(), o)
}

// yaml returns what installs heron as YAML. It must succeed.
func (h *heronry) yaml(o operator.InstallOptions) string {
	h.T.Helper()
	i, err := h.install(o)
	fail.On(h.T, err)
	text, err := i.YAML()
	fail.On(h.T, err)
	return string(text)
}

// says checks that a text contains words.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in\n%s", word, text)
		}
	}
}

// TestNewInstall checks that the same objects come from the mirror, a disk, a layout and the source.
func TestNewInstall(t *testing.T) {
	t.Parallel()
	h := newHeronry(t)
	want := h.yaml(operator.InstallOptions{})
	says(t, want, "kind: ClusterExtension", "version: 1.1.0", "namespace: heron-nest", "name: heron-installer", "resourceNames: [fish.heron.example.com]", "olm.operatorframework.io/metadata.name: herons")
	catalog, other, mirror := h.Path("heron-index"), h.Path("new"), []string{h.Docker("m")}
	for name, tc := range map[string]struct {
		o       operator.InstallOptions
		catalog string // its name, without the template
	}{
		"mirror":            {operator.InstallOptions{From: mirror}, "herons"},
		"disk":              {operator.InstallOptions{From: []string{h.disk}}, "herons"},
		"disk elsewhere":    {operator.InstallOptions{From: []string{h.disk}, Workspace: other}, "herons"},
		"named catalog":     {operator.InstallOptions{From: []string{h.disk}, Catalog: "dir://" + catalog, Channel: "stable"}, "herons"},
		"without workspace": {operator.InstallOptions{From: mirror, Workspace: other}, "herons"},
		"source":            {operator.InstallOptions{Catalog: catalog}, "cc-heron-index-latest"},
		"layout":            {operator.InstallOptions{From: []string{h.layout}, Workspace: other}, "cc-heron-index-v4-20"}, // it has neither plan nor templates
		"layout by name":    {operator.InstallOptions{From: []string{h.layout}, Workspace: other, Catalog: "heron-index"}, "cc-heron-index-v4-20"},
		"layout by tag":     {operator.InstallOptions{From: []string{h.layout}, Workspace: other, Catalog: "heron-index:v4.20"}, "cc-heron-index-v4-20"},
		"for an older OLM":  {operator.InstallOptions{For: "openshift-4.20"}, "herons"},
	} {
		if diff := cmp.Diff(strings.ReplaceAll(want, "metadata.name: herons", "metadata.name: "+tc.catalog), h.yaml(tc.o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	i, err := h.install(operator.InstallOptions{})
	fail.On(t, err)
	says(t, strings.Join(i.Notes, "\n"), "for an operator-controller before 1.11, as OpenShift 4.18 to 5.1 have")
	names, err := i.WriteFiles(h.Path("install"))
	if err != nil || len(names) != len(i.Objects) {
		t.Errorf("the files are %v, %v", names, err)
	}
	text, err := os.ReadFile(h.Path("install/09-clusterextension-heron.yaml"))
	if says(t, string(text), "version: 1.1.0"); err != nil {
		t.Error(err)
	}

	old, err := h.install(operator.InstallOptions{Version: "1.0.0", OLM: operator.OLMClassic, Namespace: []string{"a"}, TrustedCA: true, HTTPSProxy: "http://p:1"})
	fail.On(t, err)
	text, err = old.YAML()
	if says(t, string(text), "startingCSV: heron.v1.0.0", "installPlanApproval: Manual", "source: cs-heron-index-v4-20", "targetNamespaces:\n  - a\n", "inject-trusted-cabundle", "name: HTTPS_PROXY"); err != nil {
		t.Error(err)
	}
	says(t, strings.Join(old.Notes, "\n"), "create namespace a first", "approve the install plan")

	own := h.yaml(operator.InstallOptions{For: "operator-controller-1.11"})
	says(t, own, "kind: ClusterExtension", "kind: Namespace", "name: heron-api-view")
	for _, word := range []string{"ccount", "heron-installer", "escalate"} {
		if strings.Contains(own, word) {
			t.Errorf("for an OLM that ignores the account, the objects contain %q:\n%s", word, own)
		}
	}
	if later, err := h.install(operator.InstallOptions{For: "openshift-5.9"}); err != nil || !strings.Contains(strings.Join(later.Notes, "\n"), "the one of 5.1 is assumed") {
		t.Errorf("for a later OpenShift: %v", err)
	}

	for words, o := range map[string]operator.InstallOptions{
		"only an archive can have several folders": {From: []string{h.layout, h.disk}},
		"Sequence is for an archive":               {From: []string{h.layout}, Sequence: 2},
		`package "hero" is not in oci://`:          {From: []string{h.layout}, Package: "hero"},
		h.Path("heron-index"):                      {From: []string{"oci://" + h.Path("heron-index")}},
		"operator-controller-1.11":                 {For: "kubernetes"},
		"Options.For are for OLM v1":               {For: "openshift-4.20", OLM: operator.OLMClassic},
		"Options.ServiceAccount has no effect":     {For: "operator-controller-1.11", ServiceAccount: "x"},
		`package "hero" is not in`:                 {Package: "hero"},
		`no channel "stale"`:                       {Channel: "stale"},
		"no version 1.2.0":                         {Version: "1.2.0"},
		"OLM":                                      {TrustedCA: true},
		"Options.ServiceAccount":                   {OLM: operator.OLMClassic, ServiceAccount: "a"},
		"no such catalog":                          {From: []string{h.disk}, Catalog: "quay.io/other/index:v1"},
	} {
		_, err := h.install(o)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}

// TestCheckAccess removes permissions from what an installation needs. Each verb and each name counts.
func TestCheckAccess(t *testing.T) {
	t.Parallel()
	h := newHeronry(t)
	want := h.yaml(operator.InstallOptions{})
	access := func(o operator.InstallOptions, file string) (*operator.Access, error) {
		o.Env, o.Workspace, o.Package = h.Env, h.Workspace(), "heron"
		return operator.CheckAccess(t.Context(), o, file)
	}
	role := h.Write("role.yaml", want)
	for note, o := range map[string]operator.InstallOptions{"": {}, "does not check the permissions of the account beforehand": {For: "openshift-4.18"}} {
		a, err := access(o, role)
		if err != nil || len(a.Missing) > 0 || a.Account != "heron-nest/heron-installer" || a.Bundle != "heron.v1.1.0" || !strings.Contains(strings.Join(a.Notes, "\n"), note) {
			t.Errorf("%+v, %v", a, err)
		}
	}
	// The file is not read if OLM uses no account.
	if a, err := access(operator.InstallOptions{For: "operator-controller-1.11"}, h.Path("absent.yaml")); err != nil || a.Account != "" || !strings.Contains(strings.Join(a.Notes, "\n"), "there is nothing to check: operator-controller 1.11") {
		t.Errorf("%+v, %v", a, err)
	}
	const rule = "- verbs: [get, list, watch]\n  apiGroups: [\"\"]\n  resources: [namespaces]\n"
	for _, tc := range []struct {
		from     []string
		old, new string
		missing  string
	}{
		{[]string{h.disk}, rule, "", rule},
		{nil, rule, strings.Replace(rule, "list, ", "", 1), "- verbs: [list]\n  apiGroups: [\"\"]\n  resources: [namespaces]\n"},
		{nil, "resourceNames: [fish.heron.example.com]", "resourceNames: [fish.heron.example.org]", "  resourceNames: [fish.heron.example.com]\n"},
		{nil, "resourceNames: [fish.heron.example.com]", `resourceNames: ["*"]`, "  resourceNames: [fish.heron.example.com]\n"},
		{nil, "resources: [clusterextensions/finalizers]", "resources: [clusterextensions]", "  resources: [clusterextensions/finalizers]\n"},
	} {
		says(t, want, tc.old)
		a, err := access(operator.InstallOptions{From: tc.from}, h.Write("part.yaml", strings.Replace(want, tc.old, tc.new, 1)))
		mirrortest.Refused(t, err, advice.Mismatch, "1 rule is missing")
		text, err := a.YAML()
		if err != nil || !strings.Contains(string(text), tc.missing) || strings.Count(string(text), "verbs:") != 1 {
			t.Errorf("%q instead of %q: %v\n%s", tc.new, tc.old, err, text)
		}
	}
	for words, tc := range map[string]struct {
		o    operator.InstallOptions
		file string
	}{
		"only to heron-nest/heron-installer":            {operator.InstallOptions{InstallNamespace: "elsewhere", ServiceAccount: "other"}, role},
		"OLM classic installs with its own permissions": {operator.InstallOptions{OLM: operator.OLMClassic}, role},
		"there is no Role":                              {operator.InstallOptions{}, h.Path("imageset.yaml")},
	} {
		_, err := access(tc.o, tc.file)
		mirrortest.Refused(t, err, advice.Input, words)
	}
}
