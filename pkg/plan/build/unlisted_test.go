package build

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// csvOf returns a ClusterServiceVersion whose manager runs an image, with variables and an annotation.
func csvOf(name, manager string, variables map[string]string, mustGather string) string {
	env := []map[string]any{{"name": "NAMESPACE", "valueFrom": map[string]any{}}, {"name": "OTHER", "value": "quay.io/org/no-image:v1"}}
	for k, v := range variables {
		env = append(env, map[string]any{"name": k, "value": v})
	}
	annotations := map[string]any{"containerImage": "quay.io/org/not-run:v1"}
	if mustGather != "" {
		annotations["operators.openshift.io/must-gather-image"] = mustGather
	}
	text, _ := json.Marshal(map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": map[string]any{"name": name, "annotations": annotations},
		"spec": map[string]any{"version": strings.TrimPrefix(name[strings.Index(name, ".v"):], ".v"), "installModes": []any{}, "install": map[string]any{"spec": map[string]any{"deployments": []any{map[string]any{
			"name": "op", "spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"containers":     []any{map[string]any{"name": "manager", "image": manager, "env": env}},
				"initContainers": []any{map[string]any{"name": "setup", "image": "quay.io/org/setup:v1"}},
			}}},
		}}}}},
	})
	return string(text)
}

// bundleImage makes the image of a bundle with this ClusterServiceVersion.
func (w *fixture) bundleImage(pkg, csv string) ocispec.Descriptor {
	labels := map[string]string{}
	for name, value := range map[string]string{"mediatype": "registry+v1", "manifests": "manifests/", "metadata": "metadata/", "package": pkg, "channels": "stable"} {
		labels["operators.operatorframework.io.bundle."+name+".v1"] = value
	}
	annotations, err := json.Marshal(map[string]any{"annotations": labels})
	fail.On(w.t, err)
	var layer bytes.Buffer
	t := tar.NewWriter(&layer)
	for name, text := range map[string]string{"manifests/csv.json": csv, "metadata/annotations.yaml": string(annotations)} {
		fail.On(w.t, t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		_, err := t.Write([]byte(text))
		fail.On(w.t, err)
	}
	fail.On(w.t, t.Close())
	config := w.json(ocispec.MediaTypeImageConfig, map[string]any{
		"os": "linux", "architecture": "amd64", "config": map[string]any{"Labels": labels},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []digest.Digest{digest.FromBytes(layer.Bytes())}},
	})
	return w.json(ocispec.MediaTypeImageManifest, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "config": config, "layers": []ocispec.Descriptor{w.put(ocispec.MediaTypeImageLayer, layer.Bytes())},
	})
}

// unlistedCatalog makes a catalog of one bundle that uses images that it does not list. If inCatalog is
// set, the catalog has the deployments, otherwise only the image of the bundle has them.
func (w *fixture) unlistedCatalog(inCatalog bool) (operand, listed string) {
	manager := w.push("quay.io/org/manager:v1", w.image("manager"))
	listed = w.push("quay.io/org/listed:v1", w.image("listed"))
	operand = w.push("quay.io/org/operand:v1", w.image("operand"))
	w.push("quay.io/org/setup:v1", w.image("setup"))
	w.push("quay.io/org/must-gather:v1", w.image("must-gather"))
	renamed := strings.Replace(listed, "quay.io/org/listed@", "registry.example.com/other/listed@", 1)
	w.push("registry.example.com/other/listed", w.image("listed"))
	csv := csvOf("op.v1.0.0", manager, map[string]string{
		"RELATED_IMAGE_OPERAND": operand, "RELATED_IMAGE_LISTED": strings.Replace(listed, "@", ":v9@", 1), "RELATED_IMAGE_EMPTY": "", "RELATED_IMAGE_BAD": "${IMAGE}",
		"RELATED_IMAGE_RENAMED": renamed,
	}, "quay.io/org/must-gather:v1")
	property := map[string]any{"type": "olm.csv.metadata", "value": map[string]any{
		"annotations": map[string]string{"operators.openshift.io/must-gather-image": "quay.io/org/must-gather:v1"}, "installModes": []any{}, "displayName": "Op",
	}}
	if inCatalog {
		property = map[string]any{"type": "olm.bundle.object", "value": map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(csv))}}
	}
	w.catalog("/cat", "op", map[string]any{
		"image":         w.push("quay.io/org/op-bundle", w.bundleImage("op", csv)),
		"relatedImages": related(strings.Replace(manager, "@", ":v1@", 1), listed, listed),
		"properties":    []map[string]any{property},
	})
	return operand, listed
}

// wantUnlisted are the images that the bundle of unlistedCatalog does not list.
func wantUnlisted(operand, listed string, mirrored bool) []plan.UnlistedImage {
	one := func(image, where string) plan.UnlistedImage {
		return plan.UnlistedImage{Package: "op", Bundle: "op.v1.0.0", Image: image, Found: []string{where}, Mirrored: mirrored}
	}
	renamed := one(strings.Replace(listed, "quay.io/org/listed@", "registry.example.com/other/listed@", 1), "variable RELATED_IMAGE_RENAMED of container manager in deployment op")
	renamed.ListedAs = listed
	return []plan.UnlistedImage{
		one("quay.io/org/must-gather:v1", "annotation operators.openshift.io/must-gather-image"),
		one(operand, "variable RELATED_IMAGE_OPERAND of container manager in deployment op"),
		one("quay.io/org/setup:v1", "init container setup in deployment op"),
		renamed,
	}
}

func TestUnlistedImagesAreReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	operand, listed := w.unlistedCatalog(true)
	p := w.makePlan("  operators:\n  - catalog: dir:///cat\n  additionalImages:\n  - name: quay.io/org/setup:v1\n")
	want := wantUnlisted(operand, listed, false)
	want[2].Mirrored = true // by the list
	fail.Diff(t, want, p.Catalogs[0].Unlisted)
	noted(t, p.Notes,
		"dir:///cat: 1 bundle uses 3 images that relatedImages does not list and that the plan does not have; relatedImages: complete adds them",
		`bundle op.v1.0.0: variable RELATED_IMAGE_BAD of container manager in deployment op names "${IMAGE}", which is not the reference of an image`,
	)
	reread(t, p)
}

func TestUnlistedImagesAreMirrored(t *testing.T) {
	t.Parallel()
	for name, inCatalog := range map[string]bool{"deployments in the catalog": true, "deployments in the bundle": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			operand, listed := w.unlistedCatalog(inCatalog)
			if !inCatalog { // without the option, only the annotation is known
				p := w.makePlan("  operators:\n  - catalog: dir:///cat\n")
				fail.Diff(t, wantUnlisted(operand, listed, false)[:1], p.Catalogs[0].Unlisted)
				const unknown = "dir:///cat: whether 1 bundle lists all images in relatedImages is unknown, because the catalog does not have the deployments; relatedImages: complete reads the bundles"
				noted(t, p.Notes, unknown)
			}
			p := w.makePlan("  operators:\n  - catalog: dir:///cat\n    relatedImages: complete\n")
			fail.Diff(t, wantUnlisted(operand, listed, true), p.Catalogs[0].Unlisted)
			found := p.Explain(operand).Images
			if len(found) != 1 || len(found[0].Bundles) != 1 || found[0].Bundles[0].Name != "op.v1.0.0" || !slices.Equal(found[0].Bundles[0].ImageNames, []string{"RELATED_IMAGE_OPERAND"}) {
				t.Errorf("explained: %+v", found)
			}
			// The catalog is built again from the plan without reading bundles.
			fail.On(t, RebuildCatalog(t.Context(), p.Catalogs[0], nil, "", w.sources()))
		})
	}
}

func TestUnlistedImagesOfBundlesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.catalog("/cat", "op", map[string]any{"image": w.push("quay.io/org/op-bundle", w.image("no bundle")), "relatedImages": related()})
	p := w.makePlan("  operators:\n  - catalog: dir:///cat\n    relatedImages: complete\n")
	noted(t, p.Notes, "dir:///cat: the images that bundle op.v1.0.0 uses are unknown: ")
}
