package main

import (
	"encoding/json"
	"os"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// unlistedCSV uses three images: its manager, an operand and one for must-gather.
const unlistedCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: op.v1.0.0
  annotations: {operators.openshift.io/must-gather-image: "images.example.net/op/must-gather:v1"}
spec:
  displayName: Op
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: op
        spec:
          template:
            spec:
              containers:
              - name: manager
                image: images.example.net/op/manager:v1
                env: [{name: RELATED_IMAGE_OPERAND, value: "images.example.net/op/operand:v1"}]
`

// TestCompleteRelatedImages mirrors what a bundle uses and does not list, directly and over a disk. The
// catalog has only the excerpt of the ClusterServiceVersion, as today's catalogs do.
func TestCompleteRelatedImages(t *testing.T) {
	t.Parallel()
	w := newEmptyFixture(t, registrytest.Options{})
	from := w.source.Client()
	for _, name := range []string{"manager", "operand", "must-gather"} {
		img, err := registrytest.Image("op/" + name)
		if err == nil {
			_, err = from.Push(t.Context(), "images.example.net/op/"+name, "v1", img)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const prefix = "operators.operatorframework.io.bundle."
	labels := map[string]string{prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/", prefix + "package.v1": "op", prefix + "channels.v1": "stable"}
	annotations, err := json.Marshal(map[string]any{"annotations": labels})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Config{Labels: labels}, []registrytest.File{
		{Name: "manifests/op.clusterserviceversion.yaml", Data: []byte(unlistedCSV)}, {Name: "metadata/annotations.yaml", Data: annotations},
	})
	if err == nil {
		_, err = from.Push(t.Context(), "images.example.net/op/bundle", "v1", bundle)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.path("catalog"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("catalog/catalog.yaml", `schema: olm.package
name: op
defaultChannel: stable
---
schema: olm.channel
package: op
name: stable
entries: [{name: op.v1.0.0}]
---
schema: olm.bundle
package: op
name: op.v1.0.0
image: images.example.net/op/bundle:v1
relatedImages: [{name: manager, image: "images.example.net/op/manager:v1"}]
properties:
- {type: olm.package, value: {packageName: op, version: 1.0.0}}
- type: olm.csv.metadata
  value: {displayName: Op, installModes: [{type: AllNamespaces, supported: true}], annotations: {operators.openshift.io/must-gather-image: "images.example.net/op/must-gather:v1"}}
`)
	cfg := w.config("imageset.yaml", "  operators:\n  - catalog: dir://"+w.path("catalog")+"\n")
	complete := w.config("complete.yaml", "  operators:\n  - catalog: dir://"+w.path("catalog")+"\n    relatedImages: complete\n")

	const mustGather = "    images.example.net/op/must-gather:v1  NOT MIRRORED\n      op.v1.0.0: annotation operators.openshift.io/must-gather-image\n"
	w.says(w.must("plan", "-c", cfg).stdout, "  Images that bundles use and relatedImages does not list\n"+mustGather+"\n",
		"1 bundle uses 1 image that relatedImages does not list and that the plan does not have; relatedImages: complete adds them",
		"whether 1 bundle lists all images in relatedImages is unknown")
	plan := w.must("plan", "-c", cfg, "--complete-related-images")
	w.says(plan.stdout, "    images.example.net/op/must-gather:v1  mirrored\n",
		"    images.example.net/op/operand:v1  mirrored\n      op.v1.0.0: variable RELATED_IMAGE_OPERAND of container manager in deployment op\n")
	w.says(plan.stderr, "plan not saved in the workspace")

	w.must("mirror", "-c", complete, w.docker("/direct"))
	w.must("mirror", "-c", complete, "file://"+w.path("disk"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	w.must("mirror", "-c", cfg, "--complete-related-images", w.docker("/flag"), "--workspace", w.path("flag"))
	for _, prefix := range []string{"direct/", "carried/", "flag/"} {
		for _, name := range []string{"manager", "operand", "must-gather", "bundle"} {
			if _, err := w.mirror.Client().Pull(t.Context(), prefix+"op/"+name, "v1"); err != nil {
				t.Error(err)
			}
		}
	}
	w.says(w.must("explain", "-c", complete, "op/operand").stdout, "named by op.v1.0.0 as RELATED_IMAGE_OPERAND")
	w.refuse(exitUsage, []string{"--complete-related-images"}, "mirror", "--from", "file://"+w.path("disk"), "--complete-related-images", w.docker("/no"))
}
