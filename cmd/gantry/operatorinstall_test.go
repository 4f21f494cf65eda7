package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

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

// TestOperatorInstall checks the flags, the notes and the exit statuses. Package operator tests the objects.
func TestOperatorInstall(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	catalog := w.path("zoo")
	install := []string{"operator", "install", "--catalog", catalog, "vole"}
	o := w.must(append(install, "--olm", "classic", "--version", "1.0.0", "--trusted-ca", "--https-proxy", "http://p:1")...)
	w.says(o.stdout, "startingCSV: vole.v1.0.0", "installPlanApproval: Manual", "inject-trusted-cabundle", "name: HTTPS_PROXY")
	w.says(o.stderr, "approve the install plan")
	for args, words := range map[string]string{
		"operator install vole":                                                         "was not used for a mirror|--from",
		"operator install otte --catalog " + catalog:                                    `package "otte" is not in|otter`,
		"operator install vole --for kubernetes --catalog " + catalog:                   "--for|operator-controller-1.11",
		"operator install vole --for openshift-4.20 --olm classic --catalog " + catalog: "--for are for OLM v1",
		"operator install vole --check a --to b --catalog " + catalog:                   "--check and --to exclude each other",
		"operator install vole --trusted-ca --catalog " + catalog:                       "--olm|classic",
	} {
		w.refuse(exitUsage, strings.Split(words, "|"), strings.Fields(args)...)
	}
}
