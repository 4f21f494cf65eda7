package build

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
)

// planIn plans a configuration in a format, and returns the warnings, too.
func (w *fixture) planIn(text string, sources Sources, format manifest.Format) (*plan.Plan, []string, error) {
	var warnings []string
	p, err := Plan(w.t.Context(), parseConfig(w.t, text), "imageset", sources, Options{Format: format, Warn: func(s string) { warnings = append(warnings, s) }})
	return p, warnings, err
}

// checkDocker checks that nothing in a plan has or names a media type of OCI.
func checkDocker(t *testing.T, w *fixture, p *plan.Plan) {
	t.Helper()
	for _, m := range p.Manifests {
		if strings.HasPrefix(m.MediaType, "application/vnd.oci") || m.Sparse || bytes.Contains(w.blobs[m.Digest], []byte("vnd.oci")) {
			t.Errorf("%+v: %s", m, w.blobs[m.Digest])
		}
	}
	checkNoSparse(t, w, p)
}

// dockerImage makes an image of Docker.
func (w *fixture) dockerImage(text string) ocispec.Descriptor {
	return w.json(manifest.DockerImage, map[string]any{
		"schemaVersion": 2, "mediaType": manifest.DockerImage, "config": w.put(manifest.DockerConfig, []byte(`{"of":"`+text+`"}`)),
		"layers": []ocispec.Descriptor{w.put(manifest.DockerLayer, []byte(text))},
	})
}

// TestConvertedPlan plans images of OCI for a registry that refuses its media types. The filtered catalog names the
// new digests of bundles; what else is named by a digest is listed. The plan is the same each time, can be read, and
// all of it can be made again elsewhere.
func TestConvertedPlan(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	bundle, operand := w.rewriteCatalog()
	docker := w.push("quay.io/org/docker:v1", w.dockerImage("docker"))
	zstd := w.json(ocispec.MediaTypeImageManifest, map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "config": w.put(ocispec.MediaTypeImageConfig, []byte("{}")),
		"layers": []ocispec.Descriptor{w.put(ocispec.MediaTypeImageLayerZstd, []byte("zstd"))},
	})
	w.push("quay.io/org/zstd:v1", zstd)
	attested := w.on("amd64", "attested")
	w.push("quay.io/org/attested:v1", w.indexOf(attested, w.attestationFor(attested.Digest)))
	w.push("quay.io/org/some:v1", w.index("amd64", "s390x", "arm64"))
	text := "  operators: [{catalog: 'dir:///cat', " + onlyAMD + "}]\n  additionalImages:\n  - {name: quay.io/org/docker:v1}\n  - {name: quay.io/org/zstd:v1}\n" +
		"  - {name: quay.io/org/attested:v1}\n  - {name: quay.io/org/some:v1, platforms: [{os: linux, architecture: amd64}, {os: linux, architecture: arm64}]}\n"
	p, warnings, err := w.planIn(text, w.sources(), manifest.Docker)
	fail.On(t, err)
	checkDocker(t, w, p)
	if len(p.Missing) != 1 || p.Missing[0].Source != "quay.io/org/zstd:v1" || !strings.Contains(p.Missing[0].Message, "tar+zstd") {
		t.Errorf("missing: %+v", p.Missing)
	}
	if img := imageOf(t, p, "quay.io/org/docker:v1"); img.RewrittenFrom != "" || !strings.HasSuffix(docker, string(img.Digest)) {
		t.Errorf("an image that needs no conversion: %+v", img)
	}
	for source, children := range map[string]int{"quay.io/org/attested:v1": 1, "quay.io/org/some:v1": 2, operand: 2, bundle: 1} {
		img := imageOf(t, p, source)
		if img.RewrittenFrom == "" || len(w.childrenOf(img.Digest)) != children || (img.NamedBy != "") != (source == operand) {
			t.Errorf("%+v: %v", img, w.childrenOf(img.Digest))
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], operand+" (named by the manifests in the image of a bundle)") || !slices.Contains(p.Notes, warnings[0]) {
		t.Errorf("warnings: %q", warnings)
	}
	small := imageOf(t, p, bundle)
	_, kept, err := readPlanned(t.Context(), p.Catalogs[0], catalog.Options{}, w.sources())
	fail.On(t, err)
	if b := kept.Packages[0].Bundles[0]; b.Image != strings.Replace(bundle, string(small.RewrittenFrom), string(small.Digest), 1) {
		t.Errorf("the catalog names %s", b.Image)
	}

	first := jsonOf(t, p)
	if again, _, err := w.planIn(text, w.sources(), manifest.Docker); err != nil || !bytes.Equal(first, jsonOf(t, again)) {
		t.Errorf("the second plan differs: %v", err)
	}
	read := reread(t, p)
	checkMadeAgain(t, w, read)
	delete(w.blobs, p.Catalogs[0].Digest)
	if err := RebuildCatalog(t.Context(), p.Catalogs[0], p.Rewritten(), p.Format, w.sources()); err != nil || w.blobs[p.Catalogs[0].Digest] == nil {
		t.Errorf("making the catalog again: %v", err)
	}
	read.Manifests[0].MediaType = ocispec.MediaTypeImageManifest
	if err := read.Check(); err == nil {
		t.Error("a plan of Docker's format with a manifest of OCI was accepted")
	}
}

// checkMadeAgain checks that what a plan converted can be made again from the originals.
func checkMadeAgain(t *testing.T, w *fixture, read *plan.Plan) {
	t.Helper()
	for i := range read.Images {
		img := &read.Images[i]
		from, err := Originals(t.Context(), read, img, w.sources().Images)
		if err != nil || from[img.Digest] != img.RewrittenFrom {
			t.Errorf("%s: %v, %v", img.Source, from, err)
		}
		if img.RewrittenFrom == "" {
			continue
		}
		made := append(w.childrenOf(img.Digest), img.Digest)
		for _, d := range made {
			delete(w.blobs, d)
		}
		err = RebuildIndex(t.Context(), read, img, w.sources())
		for _, d := range made {
			if err != nil || w.blobs[d] == nil {
				t.Errorf("%s: making %s again: %v", img.Source, d, err)
			}
		}
	}
}

// TestConvertedToOCI checks the other direction, which leaves OCI images as they are.
func TestConvertedToOCI(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	oci := w.push("quay.io/org/oci:v1", w.index("amd64", "s390x"))
	w.push("quay.io/org/docker:v1", w.dockerImage("docker"))
	p, warnings, err := w.planIn("  additionalImages: [{name: quay.io/org/oci:v1}, {name: quay.io/org/docker:v1}]\n", w.sources(), manifest.OCI)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	for _, m := range p.Manifests {
		if !strings.HasPrefix(m.MediaType, "application/vnd.oci") {
			t.Errorf("%+v", m)
		}
	}
	if img := imageOf(t, p, "quay.io/org/oci:v1"); img.RewrittenFrom != "" || !strings.HasSuffix(oci, string(img.Digest)) {
		t.Errorf("%+v", img)
	}
	if img := imageOf(t, p, "quay.io/org/docker:v1"); img.RewrittenFrom != w.dockerImage("docker").Digest {
		t.Errorf("%+v", img)
	}
}

// TestConvertedImagesLoseSignatures checks that signatures are left out and listed: those of converted images, of
// images in converted indexes, and of images that keep their digests, since signatures are artifacts of OCI.
func TestConvertedImagesLoseSignatures(t *testing.T) {
	t.Parallel()
	w := newSignedFixture(t, true)
	amd := w.on("amd64", "app")
	index := w.indexOf(amd, w.on("arm64", "app"))
	w.push(signedRepo+":v1", index)
	kept := w.dockerImage("docker")
	w.push(signedRepo+":v2", kept)
	for _, d := range []digest.Digest{index.Digest, amd.Digest, kept.Digest} {
		w.sign(signedRepo, d, ".sig")
	}
	p, _, err := w.planIn("  additionalImages: [{name: '"+signedRepo+":v1'}, {name: '"+signedRepo+":v2'}]\n", w.sources(), manifest.Docker)
	fail.On(t, err)
	fail.Diff(t, []string{}, attached(p))
	checkDocker(t, w.fixture, p)
	noted(t, p.Notes,
		signedRepo+":v1 was converted: 2 signatures and other referrers cover only the original "+string(index.Digest)+"; left out: ",
		"1 signature or other referrer is left out, for which the media types of Docker have no form: "+tagName(signedRepo, kept.Digest, ".sig"),
	)
}

// TestConvertedReleases checks that graph data gets the format, and that a release with other media types, whose
// images clusters request by their digests, is refused.
func TestConvertedReleases(t *testing.T) {
	t.Parallel()
	for _, format := range []manifest.Format{manifest.Docker, manifest.OCI} {
		w := newReleaseFixture(t, releasetest.Small())
		cfg := parseConfig(t, everything)
		cfg.Mirror.AdditionalImages, cfg.Mirror.Operators = nil, nil
		p, err := Plan(t.Context(), cfg, "imageset", w.sources(), Options{Format: format})
		if format == manifest.OCI { // releases have the media types of Docker
			if want := "whose images clusters request by their digests"; err == nil || !strings.Contains(err.Error(), want) || advice.Hint(err) == "" {
				t.Errorf("%v, want %q", err, want)
			}
			continue
		}
		if err != nil || p.GraphData == nil || len(p.Releases) == 0 {
			t.Fatal(err)
		}
		for _, m := range p.Manifests {
			if format.Refuses(m.MediaType) {
				t.Errorf("%s: %+v", format, m)
			}
		}
		if err := RebuildGraphData(t.Context(), *p.GraphData, format, w.sources()); err != nil {
			t.Errorf("%s: making graph data again: %v", format, err)
		}
	}
}
