package main

import (
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
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

// rewriteFixture has a catalog with a bundle and an operand, and an image by tag, all for several platforms.
// Its registry refuses sparse indexes. It returns the reference of the operand.
func rewriteFixture(t *testing.T) (w *fixture, operand string) {
	w = newEmptyFixture(t, registrytest.Options{})
	from := w.source.Client()
	push := func(name, tag string, content registrytest.Content) string {
		d, err := from.Push(t.Context(), "images.example.net/"+name, tag, content)
		fail.On(t, err)
		return "images.example.net/" + name + "@" + d.String()
	}
	index := func(name string) v1.ImageIndex {
		idx, err := registrytest.AttestedIndex(name)
		fail.On(t, err)
		return idx
	}
	operand = push("op/operand", "", index("op/operand"))
	push("tools/app", "v1", index("tools/app"))
	const prefix = "operators.operatorframework.io.bundle."
	labels := map[string]string{prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/", prefix + "package.v1": "op", prefix + "channels.v1": "stable"}
	var bundles []v1.Image
	for _, arch := range []string{"amd64", "arm64"} {
		img, err := registrytest.FilesImage(v1.Platform{OS: "linux", Architecture: arch}, v1.Config{Labels: labels}, []registrytest.File{
			{Name: "manifests/op.clusterserviceversion.yaml", Data: []byte(strings.ReplaceAll(unlistedCSV, "images.example.net/op/operand:v1", operand))},
		})
		fail.On(t, err)
		bundles = append(bundles, img)
	}
	list, err := registrytest.ImageIndex(false, bundles...)
	fail.On(t, err)
	bundle := push("op/bundle", "", list)
	fail.On(t, os.Mkdir(w.path("catalog"), 0o700))
	w.write("catalog/catalog.yaml", "schema: olm.package\nname: op\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: op\nname: stable\nentries: [{name: op.v1.0.0}]\n---\n"+
		"schema: olm.bundle\npackage: op\nname: op.v1.0.0\nimage: "+bundle+"\nrelatedImages:\n- {name: '', image: '"+bundle+"'}\n- {name: operand, image: '"+operand+"'}\n"+
		"properties:\n- {type: olm.package, value: {packageName: op, version: 1.0.0}}\n")
	return w, operand
}

// TestPlatformsMode mirrors one platform to a registry that refuses sparse indexes: the error names the remedy
// before anything large is copied, and smaller indexes arrive, directly, over a disk and from a plan. Every
// reference of the filtered catalog is in the mirror, with all that its index names.
func TestPlatformsMode(t *testing.T) {
	t.Parallel()
	long(t) // package pkg/plan/build tests the mode, TestScripts/platforms the refusals
	w, operand := rewriteFixture(t)
	stanza := "  operators:\n  - catalog: dir://" + w.path("catalog") + "\n    targetCatalog: op/catalog\n    platforms: [{os: linux, architecture: amd64}]\n" +
		"  additionalImages:\n  - name: images.example.net/tools/app:v1\n    platforms: [{os: linux, architecture: amd64}]\n"
	cfg := w.config("imageset.yaml", stanza)
	mode := strings.ReplaceAll(stanza, "amd64}]\n", "amd64}]\n    platformsMode: rewrite\n")
	smaller := w.config("smaller.yaml", mode)

	w.refuse(exitError, []string{"a sparse index", "platformsMode: rewrite beside platforms"}, "mirror", "-c", cfg, w.docker("/refused"), "--workspace", w.path("refused"))
	w.refuse(exitUsage, []string{"--platforms-mode"}, "mirror", "-c", cfg, "--platforms-mode", "small", w.docker("/no"), "--workspace", w.path("refused"))

	w.refuse(exitUsage, []string{"--platforms-mode has no effect"}, "plan", "-c", w.config("every.yaml", "  additionalImages: [{name: 'images.example.net/tools/app:v1'}]\n"), "--platforms-mode", "rewrite")

	planned := w.must("plan", "-c", smaller, "--lock", w.path("plan.json"))
	w.says(planned.stdout, "Smaller indexes, with the selected platforms\n", "  images.example.net/tools/app:v1  becomes sha256:",
		"Not rewritten, so mirrored with all platforms: the manifests in the image of a bundle name its digest\n  "+operand+"\n      required by op.v1.0.0\n")
	w.says(w.must("explain", "-c", smaller, "op/operand").stdout, "keeps its digest and all its platforms: the manifests in the image of a bundle name its digest")

	w.must("mirror", "-c", smaller, w.docker("/direct"))
	w.must("mirror", "-c", smaller, "file://"+w.path("disk"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	w.must("mirror", "--plan", w.path("plan.json"), w.docker("/again"), "--workspace", w.path("again"))
	w.refuse(exitUsage, []string{"--platforms-mode"}, "mirror", "--from", "file://"+w.path("disk"), "--platforms-mode", "rewrite", w.docker("/no"))

	p := readPlanFile(t, w.path("plan.json"))
	to := w.mirror.Client()
	for _, prefix := range []string{"direct", "carried", "again"} {
		v, err := to.VerifyCatalog(t.Context(), prefix+"/op/catalog", "latest", func(path string) string { return prefix + "/" + path })
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
		if len(v.Images) != 2 {
			t.Errorf("%s: the catalog names %v", prefix, v.Images)
		}
		for _, img := range p.Images {
			if img.Catalog != "" {
				continue
			}
			got, err := to.Pull(t.Context(), prefix+"/"+img.Repository, img.Tags[0])
			if err != nil || got.Digest != img.Digest {
				t.Errorf("%s: %s is %s, want %s: %v", prefix, img.Source, got.Digest, img.Digest, err)
			}
		}
	}
	w.must("verify", "-c", smaller, w.docker("/direct"))
	w.must("verify", "--from", "file://"+w.path("disk"), w.docker("/carried"), "--workspace", w.path("far"))
	w.must("plan", "-c", smaller, w.docker("/direct"), "--exit-code")
}

// readPlanFile reads a plan and checks that no index in it is sparse.
func readPlanFile(t *testing.T, file string) *plan.Plan {
	t.Helper()
	p, err := plan.Read(strings.NewReader(readText(t, file)))
	fail.On(t, err)
	for _, m := range p.Manifests {
		if m.Sparse {
			t.Errorf("%s is sparse", m.Digest)
		}
	}
	return p
}
