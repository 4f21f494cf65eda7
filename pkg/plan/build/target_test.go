package build

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

func TestConflictingTargets(t *testing.T) {
	one := resolvedImage{request: &imageRequest{source: "h/a:v1", repo: "z"}, digest: digest.FromString("1")}
	two := resolvedImage{request: &imageRequest{source: "h/b:v1", repo: "z"}, digest: digest.FromString("2")}
	_, _, err := assignTargets([]resolvedImage{one, two})
	says(t, err, "z:v1", "targetRepo")
	two.digest = one.digest
	if images, _, err := assignTargets([]resolvedImage{one, two}); err != nil || len(images) != 2 {
		t.Errorf("the same image under one name: %v, %v", images, err)
	}
}

func TestInvalidFolderName(t *testing.T) {
	odd := resolvedImage{request: &imageRequest{source: "dir:///my catalogs"}, digest: digest.FromString("1")}
	_, _, err := assignTargets([]resolvedImage{odd})
	var input *advice.Error
	if !errors.As(err, &input) || !strings.Contains(input.Hint, "targetCatalog") {
		t.Errorf("assignTargets = %v", err)
	}
	odd.request.repo = "mine/catalog"
	if images, _, err := assignTargets([]resolvedImage{odd}); err != nil || images[0].Repository != "mine/catalog" || images[0].Tags[0] != "latest" {
		t.Errorf("with a target: %+v, %v", images, err)
	}
}

// TestReservedTags gives no image the tag under which registries list referrers, also if a configuration or a
// source asks for it.
func TestReservedTags(t *testing.T) {
	t.Parallel()
	d := digest.FromString("1")
	own, other := plan.ReferrersTag(d), plan.ReferrersTag(digest.FromString("2"))
	for _, tc := range []struct {
		name, source, configured string
		note                     bool
	}{
		{"a digest", "", "", false},
		{"its tag in a mirror of oc mirror", own, "", false},
		{"its tag in a configuration with digests", "", own, false},
		{"a list at the source", other, "", true},
		{"a configured tag", "v1", other, true},
	} {
		ref := reference.Reference{Host: "h", Path: "a", Tag: tc.source}
		if tc.source == "" {
			ref.Digest = d
		}
		images, notes, err := assignTargets([]resolvedImage{{request: &imageRequest{source: ref.String(), tag: tc.configured}, digest: d}})
		if err != nil || len(images) != 1 || len(images[0].Tags) != 1 || images[0].Tags[0] != plan.DigestTag(d) {
			t.Errorf("%s: %+v, %v", tc.name, images, err)
		}
		if noted := len(notes) == 1 && strings.Contains(notes[0], "because registries list referrers under "+other); noted != tc.note || len(notes) > 1 {
			t.Errorf("%s: notes %q", tc.name, notes)
		}
	}
}

func TestPlanNestedIndexes(t *testing.T) {
	w := newFixture(t)
	inner := w.image("deep")
	for range plan.MaxDepth + 2 {
		inner = w.json("application/vnd.oci.image.index.v1+json", map[string]any{"manifests": []any{inner}})
		w.push("quay.io/org/deep", inner)
	}
	w.push("quay.io/org/deep:v1", inner)
	w.push("quay.io/org/deep", w.image("deep"))
	w.push("quay.io/org/plain:v1", w.image("plain"))
	p := w.makePlan("  additionalImages: [{name: 'quay.io/org/deep:v1'}, {name: 'quay.io/org/plain:v1'}]\n")
	if len(p.Missing) != 1 || !strings.Contains(p.Missing[0].Message, "nested") || len(p.Images) != 1 {
		t.Errorf("missing %+v, %d images; want the deep one missing alone", p.Missing, len(p.Images))
	}
}

// TestPlanRepeatedIndexes checks that indexes which list each other many times do not keep the planner busy, also not
// those of a platform that is left out.
func TestPlanRepeatedIndexes(t *testing.T) {
	w := newFixture(t)
	inner := w.image("wide")
	w.push("quay.io/org/wide", inner)
	for range plan.MaxDepth - 2 {
		inner = w.indexOf(slices.Repeat([]ocispec.Descriptor{inner}, 40)...)
		w.push("quay.io/org/wide", inner)
	}
	w.push("quay.io/org/wide:v1", inner)
	w.push("quay.io/org/plain:v1", w.image("plain"))
	inner.Platform = &ocispec.Platform{OS: "other", Architecture: "amd64"}
	good := w.on("amd64", "good")
	w.push("quay.io/org/wide", good)
	w.push("quay.io/org/wide:v2", w.indexOf(inner, good))
	p := w.makePlan("  additionalImages: [{name: 'quay.io/org/wide:v1'}, {name: 'quay.io/org/plain:v1'}, {name: 'quay.io/org/wide:v2', " + onlyAMD + "}]\n")
	if len(p.Missing) != 1 || !strings.Contains(p.Missing[0].Message, "lists more than") || len(p.Images) != 2 {
		t.Errorf("missing %+v, %d images; want the wide one missing alone", p.Missing, len(p.Images))
	}
}

func TestSplitLayout(t *testing.T) {
	for in, want := range map[string][2]string{
		"oci:///a/b":              {"/a/b", ""},
		"oci:///a/b:org/name:v1":  {"/a/b", "org/name:v1"},
		"oci://rel/b@sha256:1234": {"rel/b", "sha256:1234"},
		"dir:///a:b":              {"dir:///a:b", ""},
		"quay.io/org/name:v1":     {"quay.io/org/name:v1", ""},
	} {
		if dir, name := plan.SplitLayout(in); dir != want[0] || name != want[1] {
			t.Errorf("SplitLayout(%q) = %q, %q; want %q", in, dir, name, want)
		}
	}
}

func TestParseManifest(t *testing.T) {
	d := digest.FromString("x").String()
	desc := func(mediaType string) string {
		return `{"mediaType":"` + mediaType + `","digest":"` + d + `","size":1}`
	}
	index, image := "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json"
	layer := "application/vnd.oci.image.layer.v1.tar+gzip"
	for _, tc := range []struct{ name, given, raw, want string }{
		{"an image", image, `{"config":` + desc("c") + `,"layers":[` + desc(layer) + `]}`, ""},
		{"an image without types", "", `{"config":` + desc("c") + `,"layers":[]}`, ""},
		{"an index", index, `{"manifests":[` + desc(image) + `]}`, ""},
		{"neither", "text/html", `{}`, "unknown type"},
		{"no JSON", image, `<html>`, "reading manifest"},
		{"both", image, `{"config":` + desc("c") + `,"manifests":[]}`, "both"},
		{"schema 1", "application/vnd.docker.distribution.manifest.v1+prettyjws", `{"schemaVersion":1}`, "schema 1"},
		{"another type inside", image, `{"mediaType":"` + index + `","manifests":[]}`, "the registry reports the type"},
		{"no config", image, `{"layers":[]}`, "no config"},
		{"a bad digest", image, `{"config":{"digest":"sha256:1","size":1}}`, "digest"},
		{"a negative size", image, `{"config":{"digest":"` + d + `","size":-1}}`, "size"},
		{"a layer of no bytes", image, `{"config":` + desc("c") + `,"layers":[{"digest":"` + digest.FromString("y").String() + `","size":0}]}`, "has the size 0, but it is not the digest of empty content"},
		{"an empty layer", image, `{"config":` + desc("c") + `,"layers":[{"digest":"` + digest.FromString("").String() + `","size":0}]}`, ""},
		{"a blob of two sizes", image, `{"config":` + desc("c") + `,"layers":[{"digest":"` + d + `","size":2}]}`, "two sizes"},
		{"many empty objects", image, `{"config":{},"layers":[{}` + strings.Repeat(",{}", 100_000) + `]}`, "it has 100003 objects in"},
		{"a bad child", index, `{"manifests":[{"digest":"x"}]}`, "digest"},
	} {
		n, err := parseManifest(descriptor(tc.given, tc.raw), []byte(tc.raw))
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %+v, %v; want an error with %q", tc.name, n, err, tc.want)
		}
	}
	foreign := `{"config":` + desc("c") + `,"layers":[{"mediaType":"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip","digest":"` +
		digest.FromString("y").String() + `","size":5,"urls":["https://vendor.example.com/y"]}]}`
	if n, err := parseManifest(descriptor(image, foreign), []byte(foreign)); err != nil || n.foreign != 1 || len(n.blobs) != 1 {
		t.Errorf("a foreign layer: %+v, %v", n, err)
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add("", `{"config":{"digest":"`+digest.FromString("x").String()+`","size":1},"layers":[]}`)
	f.Add("application/vnd.oci.image.index.v1+json", `{"manifests":[]}`)
	f.Fuzz(func(t *testing.T, mediaType, raw string) {
		n, err := parseManifest(descriptor(mediaType, raw), []byte(raw))
		if err != nil {
			return
		}
		if !manifest.Is(n.mediaType) {
			t.Errorf("%q was parsed as %q", raw, n.mediaType)
		}
		for _, b := range n.blobs {
			if b.Digest.Validate() != nil || b.Size < 0 {
				t.Errorf("blob %+v was accepted", b)
			}
		}
	})
}
