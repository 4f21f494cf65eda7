package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// heronBundle returns the files of a bundle, and their labels.
func heronBundle(t *testing.T, version string) (labels map[string]string, files []registrytest.File) {
	t.Helper()
	const prefix = "operators.operatorframework.io.bundle."
	labels = map[string]string{prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/", prefix + "package.v1": "heron", prefix + "channels.v1": "stable"}
	annotations, err := json.Marshal(map[string]any{"annotations": labels})
	if err != nil {
		t.Fatal(err)
	}
	return labels, []registrytest.File{
		{Name: "metadata/annotations.yaml", Data: annotations},
		{Name: "manifests/csv.yaml", Data: []byte(`apiVersion: operators.coreos.com/v1alpha1
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
      deployments: [{name: heron, spec: {template: {spec: {containers: [{name: manager, image: "images.example.net/heron/manager:v1"}]}}}}]
      permissions:
      - serviceAccountName: heron
        rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, update]}]
`)},
		{Name: "manifests/fish.yaml", Data: []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fish.heron.example.com}
spec: {group: heron.example.com, names: {kind: Fish, plural: fish}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}
`)},
	}
}

// heronSource pushes two bundles and their image, and returns a configuration that mirrors them.
func (w *fixture) heronSource() string {
	w.t.Helper()
	from := w.source.Client()
	manager, err := registrytest.Image("heron/manager")
	if err == nil {
		_, err = from.Push(w.t.Context(), "images.example.net/heron/manager", "v1", manager)
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		labels, files := heronBundle(w.t, version)
		var bundle v1.Image
		if err == nil {
			bundle, err = registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{Labels: labels}, files)
		}
		if err == nil {
			_, err = from.Push(w.t.Context(), "images.example.net/heron/bundle", "v"+version, bundle)
		}
	}
	if err == nil {
		err = os.Mkdir(w.path("heron-index"), 0o700)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	text := "schema: olm.package\nname: heron\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: heron\nname: stable\nentries: [{name: heron.v1.0.0}, {name: heron.v1.1.0, replaces: heron.v1.0.0}]\n"
	for _, version := range []string{"1.0.0", "1.1.0"} {
		text += `---
schema: olm.bundle
package: heron
name: heron.v` + version + `
image: images.example.net/heron/bundle:v` + version + `
relatedImages: [{name: manager, image: "images.example.net/heron/manager:v1"}]
properties:
- {type: olm.package, value: {packageName: heron, version: ` + version + `}}
- {type: olm.csv.metadata, value: {installModes: [{type: AllNamespaces, supported: true}]}}
`
	}
	w.write("heron-index/catalog.yaml", text)
	template := w.write("cc.yaml", "apiVersion: olm.operatorframework.io/v1\nkind: ClusterCatalog\nmetadata: {name: herons}\n")
	return w.config("imageset.yaml", "  operators:\n  - catalog: dir://"+w.path("heron-index")+"\n    full: true\n    targetTag: v4.20\n    targetClusterCatalogTemplate: "+template+"\n")
}

// TestOperatorInstall mirrors an operator and prints what installs it, from the mirror, a disk and the source.
func TestOperatorInstall(t *testing.T) {
	t.Parallel()
	w := newEmptyFixture(t, registrytest.Options{})
	cfg, disk := w.heronSource(), "file://"+w.path("disk")
	w.refuse(exitUsage, []string{"was not used for a mirror", "--from"}, "operator", "install", "heron")
	w.must("mirror", "-c", cfg, disk)
	w.must("mirror", "-c", cfg, w.docker("/m"), "--src-tls-verify=false", "--dest-tls-verify=false")

	install := func(args ...string) string {
		return w.must(slices.Concat([]string{"operator", "install", "heron"}, args)...).stdout
	}
	want := install()
	w.says(want, "kind: ClusterExtension", "version: 1.1.0", "namespace: heron-nest", "name: heron-installer", "resourceNames: [fish.heron.example.com]",
		"olm.operatorframework.io/metadata.name: herons")
	for _, args := range [][]string{
		{"--from", w.docker("/m")}, {"--from", disk}, {"--from", disk, "--workspace", w.path("new")},
		{"--from", disk, "--catalog", "dir://" + w.path("heron-index"), "--channel", "stable"},
	} {
		if diff := cmp.Diff(want, install(args...)); diff != "" {
			t.Errorf("%v: %s", args, diff)
		}
	}
	// A registry does not know the template.
	if diff := cmp.Diff(strings.ReplaceAll(want, "metadata.name: herons", "metadata.name: cc-heron-index-v4-20"), install("--from", w.docker("/m"), "--workspace", w.path("new"))); diff != "" {
		t.Errorf("from a registry without its workspace: %s", diff)
	}
	if diff := cmp.Diff(strings.ReplaceAll(want, "metadata.name: herons", "metadata.name: cc-heron-index-latest"), install("--catalog", w.path("heron-index"))); diff != "" {
		t.Errorf("from the source: %s", diff)
	}
	// An OCI layout has neither plan nor templates.
	oci := "oci://" + w.path("layout")
	w.must("mirror", "-c", cfg, oci)
	for _, args := range [][]string{{"--from", oci}, {"--from", oci, "--catalog", "heron-index"}, {"--from", oci, "--catalog", "heron-index:v4.20"}} {
		if diff := cmp.Diff(strings.ReplaceAll(want, "metadata.name: herons", "metadata.name: cc-heron-index-v4-20"), install(slices.Concat(args, []string{"--workspace", w.path("new")})...)); diff != "" {
			t.Errorf("%v: %s", args, diff)
		}
	}
	w.refuse(exitUsage, []string{"only an archive can have several folders"}, "operator", "install", "heron", "--from", oci, "--from", disk)
	w.refuse(exitUsage, []string{"--sequence is for an archive"}, "operator", "install", "heron", "--from", oci, "--sequence", "2")
	w.refuse(exitUsage, []string{`package "hero" is not in oci://`, "heron"}, "operator", "install", "hero", "--from", oci)
	w.refuse(exitUsage, []string{w.path("heron-index")}, "operator", "install", "heron", "--from", "oci://"+w.path("heron-index"))
	if w.must("operator", "install", "heron", "--to", w.path("install")); !strings.Contains(w.read("install/09-clusterextension-heron.yaml"), "version: 1.1.0") {
		t.Errorf("the files are %v", w.tree("install"))
	}
	old := w.must("operator", "install", "heron", "--version", "1.0.0", "--olm", "classic", "--namespace", "a", "--trusted-ca", "--https-proxy", "http://p:1")
	w.says(old.stdout, "startingCSV: heron.v1.0.0", "installPlanApproval: Manual", "source: cs-heron-index-v4-20", "targetNamespaces:\n  - a\n", "inject-trusted-cabundle", "name: HTTPS_PROXY")
	w.says(old.stderr, "create namespace a first", "approve the install plan")

	o11 := w.must("operator", "install", "heron", "--for", "operator-controller-1.11")
	for _, word := range []string{"ccount", "heron-installer", "escalate"} {
		if strings.Contains(o11.stdout, word) {
			t.Errorf("for an OLM that ignores the account, the objects contain %q:\n%s", word, o11.stdout)
		}
	}
	w.says(o11.stdout, "kind: ClusterExtension", "kind: Namespace", "name: heron-api-view")
	if o := w.must("operator", "install", "heron", "--for", "openshift-4.20"); o.stdout != want || strings.Contains(o.stderr, "--for") {
		t.Errorf("for OpenShift 4.20:\n%s%s", o.stdout, o.stderr)
	}
	w.says(w.must("operator", "install", "heron").stderr, "for an operator-controller before 1.11, as OpenShift 4.18 to 5.1 have", "give --for")
	w.says(w.must("operator", "install", "heron", "--for", "openshift-5.9").stderr, "the one of 5.1 is assumed")
	w.refuse(exitUsage, []string{"--for", "operator-controller-1.11"}, "operator", "install", "heron", "--for", "kubernetes")
	w.refuse(exitUsage, []string{"--for are for OLM v1"}, "operator", "install", "heron", "--for", "openshift-4.20", "--olm", "classic")
	w.refuse(exitUsage, []string{"--service-account has no effect"}, "operator", "install", "heron", "--for", "operator-controller-1.11", "--service-account", "x")

	role := w.write("role.yaml", want)
	checked := w.must("operator", "install", "heron", "--check", w.path("absent.yaml"), "--for", "operator-controller-1.11")
	if w.says(checked.stderr, "there is nothing to check: operator-controller 1.11"); checked.stdout != "" {
		t.Errorf("the check prints %s", checked.stdout)
	}
	w.says(w.must("operator", "install", "heron", "--check", role, "--for", "openshift-4.18").stderr, "does not check the permissions of the account beforehand", "nothing is missing")
	w.says(w.must("operator", "install", "heron", "--check", role).stderr, "nothing is missing: ServiceAccount heron-nest/heron-installer can install heron.v1.1.0")
	const rule = "- verbs: [get, list, watch]\n  apiGroups: [\"\"]\n  resources: [namespaces]\n"
	w.says(want, rule)
	less := w.write("less.yaml", strings.Replace(want, rule, "", 1))
	o := w.gantry("operator", "install", "heron", "--from", disk, "--check", less)
	if o.code != exitMismatch || !strings.Contains(o.stdout, rule) || strings.Count(o.stdout, "verbs:") != 1 || !strings.Contains(o.stderr, "1 rule is missing") {
		t.Errorf("without a rule, the check ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	// Each verb and each name counts.
	for _, tc := range []struct{ from, to, missing string }{
		{"verbs: [get, list, watch]\n  apiGroups: [\"\"]\n  resources: [namespaces]", "verbs: [get, watch]\n  apiGroups: [\"\"]\n  resources: [namespaces]", "- verbs: [list]\n  apiGroups: [\"\"]\n  resources: [namespaces]\n"},
		{"resourceNames: [fish.heron.example.com]", "resourceNames: [fish.heron.example.org]", "  resourceNames: [fish.heron.example.com]\n"},
		{"resourceNames: [fish.heron.example.com]", `resourceNames: ["*"]`, "  resourceNames: [fish.heron.example.com]\n"},
		{"resources: [clusterextensions/finalizers]", "resources: [clusterextensions]", "  resources: [clusterextensions/finalizers]\n"},
	} {
		w.says(want, tc.from)
		o := w.gantry("operator", "install", "heron", "--check", w.write("part.yaml", strings.Replace(want, tc.from, tc.to, 1)))
		if o.code != exitMismatch || !strings.Contains(o.stdout, tc.missing) || strings.Count(o.stdout, "verbs:") != 1 {
			t.Errorf("%s instead of %s: the check ended with %d\n%s%s", tc.to, tc.from, o.code, o.stdout, o.stderr)
		}
	}
	o = w.gantry("operator", "install", "heron", "--check", less, "-o", "json", "--install-namespace", "elsewhere", "--service-account", "other")
	if o.code != exitUsage || !strings.Contains(o.stderr, "only to heron-nest/heron-installer") {
		t.Errorf("for another account, the check ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for _, tc := range []struct {
		words []string
		args  []string
	}{
		{[]string{`package "hero" is not in`, "heron"}, []string{"hero"}},
		{[]string{`no channel "stale"`, "stable"}, []string{"heron", "--channel", "stale"}},
		{[]string{"no version 1.2.0", "1.1.0"}, []string{"heron", "--version", "1.2.0"}},
		{[]string{"--olm", "classic"}, []string{"heron", "--trusted-ca"}},
		{[]string{"--service-account"}, []string{"heron", "--olm", "classic", "--service-account", "a"}},
		{[]string{"OLM classic installs with its own permissions"}, []string{"heron", "--olm", "classic", "--check", role}},
		{[]string{"no such catalog"}, []string{"heron", "--from", disk, "--catalog", "quay.io/other/index:v1"}},
		{[]string{"there is no Role"}, []string{"heron", "--check", cfg}},
	} {
		w.refuse(exitUsage, tc.words, slices.Concat([]string{"operator", "install"}, tc.args)...)
	}
}
