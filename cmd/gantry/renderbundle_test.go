package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// kelpBundle returns the labels and files of a bundle, in the layout of operator-sdk.
func kelpBundle() (labels, files map[string]string) {
	labels = map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1": "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":  "metadata/",
		"operators.operatorframework.io.bundle.package.v1":   "kelp",
		"operators.operatorframework.io.bundle.channels.v1":  "stable",
	}
	annotations := "annotations:\n"
	for _, line := range sortedKeys(labels) {
		annotations += "  " + line + ": " + labels[line] + "\n"
	}
	return labels, map[string]string{
		"metadata/annotations.yaml": annotations,
		"metadata/dependencies.yaml": `dependencies:
- type: olm.package
  value: {packageName: reed, version: ">=1.0.0"}
`,
		"manifests/kelp.clusterserviceversion.yaml": `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: kelp.v1.2.0}
spec:
  displayName: Kelp
  version: 1.2.0
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned: [{name: fronds.kelp.example.com, version: v1, kind: Frond}]
  relatedImages:
  - {name: anchor, image: 'registry.example.com/kelp/anchor:v1'}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: kelp
        spec: {template: {spec: {containers: [{name: manager, image: 'registry.example.com/kelp/manager:v1.2.0'}]}}}
`,
		"manifests/fronds.crd.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fronds.kelp.example.com}
spec:
  group: kelp.example.com
  names: {kind: Frond, plural: fronds}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`,
	}
}

// TestRenderBundles makes a catalog from a bundle as described in docs/, from its image and from
// its folder.
func TestRenderBundles(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t, registrytest.Start(t, registrytest.Options{}))
	const ref = "registry.example.com/kelp/kelp-bundle:v1.2.0"
	labels, files := kelpBundle()
	w.push(ref, fileImage(t, v1.Config{Labels: labels}, files))
	for name, text := range files {
		w.mkdir("bundle/" + name[:strings.Index(name, "/")])
		w.write("bundle/"+name, text)
	}

	image := w.must("catalog", "render", "-o", "yaml", ref).stdout
	// As with opm, the manifests are summarized only if that is requested and an image has them.
	migrated := w.must("catalog", "render", "-o", "yaml", "--migrate", ref).stdout
	folder := w.must("catalog", "render", "-o", "yaml", w.path("bundle")).stdout
	if same := w.must("catalog", "render", "-o", "yaml", "--migrate", w.path("bundle")).stdout; same != folder {
		t.Errorf("the folder's manifests are lost: %s", cmp.Diff(folder, same))
	}
	const objects, excerpt = "type: olm.bundle.object\n", "type: olm.csv.metadata\n"
	for text, own := range map[string]string{image: objects, migrated: excerpt, folder: objects} {
		if strings.Contains(text, objects) == strings.Contains(text, excerpt) {
			t.Errorf("want either form in\n%s", text)
		}
		for _, want := range []string{
			"name: kelp.v1.2.0\n", own, "type: olm.package.required\n", "kind: Frond\n",
			"image: registry.example.com/kelp/anchor:v1\n", "image: registry.example.com/kelp/manager:v1.2.0\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
	if diff := cmp.Diff([]int{2, 0}, []int{strings.Count(image, "image: "+ref+"\n"), strings.Count(folder, "kelp-bundle")}); diff != "" {
		t.Errorf("how often the bundle's image is named, by image and folder: %s", diff)
	}

	var begin, said bytes.Buffer
	if code := run([]string{"catalog", "init", "kelp", "--default-channel", "stable"}, &begin, &said); code != exitOK {
		t.Fatalf("catalog init ended with %d: %s", code, said.String())
	}
	for _, bundle := range []string{image, migrated, folder} {
		w.mkdir("catalog")
		w.write("catalog/package.json", begin.String())
		w.write("catalog/bundles.yaml", bundle)
		w.refuse(exitError, []string{"is invalid"}, "catalog", "validate", w.path("catalog"))
		w.write("catalog/channels.yaml", "schema: olm.channel\npackage: kelp\nname: stable\nentries:\n- name: kelp.v1.2.0\n")
		o := w.must("catalog", "validate", w.path("catalog"))
		if !strings.Contains(o.stdout, "valid (1 package, 1 channel, 1 bundle)") {
			t.Errorf("validate printed %s", o.stdout)
		}
		if err := os.RemoveAll(w.path("catalog")); err != nil {
			t.Fatal(err)
		}
	}
	if o := w.gantry("catalog", "validate", ref); o.code != exitError {
		t.Errorf("a bundle is valid as a catalog: %d %s", o.code, o.stdout)
	}
	w.refuse(exitUsage, []string{ref, "bundle"}, "plan", "-c", w.config("bundle.yaml", "  operators: [{catalog: '"+ref+"'}]\n"))

	// Errors name the file.
	if err := os.Remove(w.path("bundle/manifests/kelp.clusterserviceversion.yaml")); err != nil {
		t.Fatal(err)
	}
	w.refuse(exitError, []string{"ClusterServiceVersion"}, "catalog", "render", w.path("bundle"))
}
