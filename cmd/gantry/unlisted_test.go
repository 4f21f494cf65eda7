package main

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
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

// TestCompleteRelatedImages checks the flag and what is printed of images that a bundle uses and does not list. Package
// pkg/plan/build tests which these are.
func TestCompleteRelatedImages(t *testing.T) {
	t.Parallel()
	w := newEmptyFixture(t, registrytest.Options{})
	for _, name := range []string{"anchor:v1", "manager:v1.2.0", "must-gather:v1"} {
		img, err := registrytest.Image(name)
		fail.On(t, err)
		w.push("images.example.net/op/"+name, img)
	}
	labels, files := mirrortest.KelpBundle()
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "registry.example.com/kelp", "images.example.net/op")
	}
	bundle := w.push("images.example.net/op/bundle:v1", mirrortest.FileImage(t, v1.Config{Labels: labels}, files))
	w.mkdir("catalog")
	w.write("catalog/catalog.json", `{"schema":"olm.package","name":"kelp","defaultChannel":"stable"}{"schema":"olm.channel","package":"kelp","name":"stable","entries":[{"name":"kelp.v1.2.0"}]}`+
		`{"schema":"olm.bundle","package":"kelp","name":"kelp.v1.2.0","image":"`+bundle+`","properties":[{"type":"olm.package","value":{"packageName":"kelp","version":"1.2.0"}},`+
		`{"type":"olm.csv.metadata","value":{"annotations":{"operators.openshift.io/must-gather-image":"images.example.net/op/must-gather:v1"}}}]}`)
	cfg := w.config("imageset.yaml", "  operators:\n  - catalog: dir://"+w.path("catalog")+"\n")
	w.says(w.must("plan", "-c", cfg).stdout, "  Images that bundles use and relatedImages does not list\n    images.example.net/op/must-gather:v1  NOT MIRRORED\n      kelp.v1.2.0: annotation operators.openshift.io/must-gather-image\n",
		"1 bundle uses 1 image that relatedImages does not list and that the plan does not have; relatedImages: complete adds them")
	o := w.must("plan", "-c", cfg, "--complete-related-images", "--lock", w.path("plan.json"))
	w.says(o.stdout, "    images.example.net/op/manager:v1.2.0  mirrored\n      kelp.v1.2.0: container manager in deployment kelp\n")
	w.says(w.must("plan", "-c", cfg, "--complete-related-images").stderr, "plan not saved in the workspace")
	w.says(w.must("explain", "--plan", w.path("plan.json"), "op/manager").stdout, "kelp.v1.2.0")
	w.refuse(exitUsage, []string{"--complete-related-images"}, "mirror", "--from", "file://"+w.path("disk"), "--complete-related-images", w.docker("/no"))
}
