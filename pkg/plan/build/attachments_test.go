package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

const signedRepo = "quay.io/org/app"

func tagName(repository string, d digest.Digest, ending string) string {
	return repository + ":sha256-" + d.Encoded() + ending
}

// TestAttachments plans what belongs to an image and to its platforms that are mirrored, with and
// without the referrers API, and in the repository where the image goes.
func TestAttachments(t *testing.T) {
	t.Parallel()
	for _, api := range []bool{false, true} {
		t.Run(fmt.Sprint("api ", api), func(t *testing.T) {
			t.Parallel()
			w := newSignedFixture(t, api)
			index := w.index("amd64", "arm64")
			w.push(signedRepo+":v1", index)
			var m ocispec.Index
			fail.On(t, json.Unmarshal(w.blobs[index.Digest], &m))
			amd, arm := m.Manifests[0].Digest, m.Manifests[1].Digest
			w.sign(signedRepo, index.Digest, ".sig")
			sbom := w.sign(signedRepo, amd, ".sbom")
			w.sign(signedRepo, sbom.Digest, ".att")
			w.sign(signedRepo, arm, ".sig")
			w.sign(signedRepo, digest.FromString("another image"), ".sig")
			w.tags[tagName(signedRepo, amd, ".txt")] = sbom.Digest
			bundle := w.referrer(signedRepo, index.Digest, "bundle")
			of := w.referrer(signedRepo, bundle.Digest, "of the bundle")
			armBundle := w.referrer(signedRepo, arm, "arm")
			w.list(signedRepo, index.Digest, bundle)
			w.list(signedRepo, bundle.Digest, of)
			w.list(signedRepo, arm, armBundle)

			p := w.plan("  additionalImages: [{name: '" + signedRepo + ":v1', targetRepo: renamed/app, platforms: [{os: linux, architecture: amd64}]}]\n")
			want := []string{
				"attestation " + tagName("renamed/app", sbom.Digest, ".att"),
				"referrer renamed/app@" + bundle.Digest.String(),
				"referrer renamed/app@" + of.Digest.String(),
				"sbom " + tagName("renamed/app", amd, ".sbom"),
				"signature " + tagName("renamed/app", index.Digest, ".sig"),
			}
			slices.Sort(want)
			fail.Diff(t, want, attached(p))
			for _, img := range p.Images {
				if img.Subject != "" && (len(img.Reasons) != 1 || img.Reasons[0] != plan.Reason{List: "signatures"} || img.Size == 0) {
					t.Errorf("%+v", img)
				}
			}
			if len(p.Missing)+len(p.Notes) > 0 {
				t.Errorf("missing %v, notes %v", p.Missing, p.Notes)
			}
			fail.Diff(t, 1, w.requests["pages"])
			// The same input gives the same bytes, and what was written can be read.
			first := jsonOf(t, p)
			if !bytes.Equal(first, jsonOf(t, w.plan("  additionalImages: [{name: '"+signedRepo+":v1', targetRepo: renamed/app, platforms: [{os: linux, architecture: amd64}]}]\n"))) {
				t.Error("the second plan differs")
			}
			reread(t, p)
			for _, text := range []string{"  signatures: remove\n", ""} {
				q := w.plan("  additionalImages: [{name: '"+signedRepo+":v1'}]\n"+text, Options{RemoveSignatures: text == ""})
				if len(attached(q)) > 0 {
					t.Errorf("%q: %v", text, attached(q))
				}
			}
			if p, err := p.WithoutSignatures(); err != nil || len(p.Images) != 1 || len(p.Manifests) != 2 {
				t.Errorf("%+v, %v", p.Totals, err)
			}
			// What belongs to an image goes with it.
			without, err := p.Without([]plan.FailedImage{{Source: signedRepo + ":v1", Repository: "renamed/app", Err: errors.New("lost")}})
			if err != nil || len(without.Images) > 0 {
				t.Errorf("%v, %v", attached(without), err)
			}
		})
	}
}

// TestArtifactTypes checks the types of referrers in a plan, and that only signatures count as such.
func TestArtifactTypes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, artifactType, configType, predicate string
		want, wantPredicate                       string
		unsigned                                  int
	}{
		{name: "its artifactType", artifactType: "application/spdx+json", configType: "a/b", want: "application/spdx+json", unsigned: 1},
		{name: "the type of its config", configType: "application/vnd.cncf.notary.signature", want: "application/vnd.cncf.notary.signature"},
		{name: "its own type", want: ocispec.MediaTypeImageManifest, unsigned: 1},
		{name: "no text", artifactType: "a/b\x1b[2J", want: ocispec.MediaTypeImageManifest, unsigned: 1},
		{name: "too long", artifactType: strings.Repeat("a", 256), want: ocispec.MediaTypeImageManifest, unsigned: 1},
		{
			name: "an attestation", artifactType: "application/vnd.dev.sigstore.bundle.v0.3+json", predicate: "https://slsa.dev/provenance/v1",
			want: "application/vnd.dev.sigstore.bundle.v0.3+json", wantPredicate: "https://slsa.dev/provenance/v1", unsigned: 1,
		},
		{
			name: "a signature", artifactType: "application/vnd.dev.sigstore.bundle.v0.3+json", predicate: "https://sigstore.dev/cosign/sign/v1",
			want: "application/vnd.dev.sigstore.bundle.v0.3+json", wantPredicate: "https://sigstore.dev/cosign/sign/v1",
		},
	} {
		w := newSignedFixture(t, true)
		img := w.image("signed")
		w.push(signedRepo+":v1", img)
		desc := w.json(ocispec.MediaTypeImageManifest, map[string]any{
			"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "artifactType": tc.artifactType,
			"config":      ocispec.Descriptor{MediaType: tc.configType, Digest: w.put("", []byte("{}")).Digest, Size: 2},
			"layers":      []ocispec.Descriptor{},
			"subject":     ocispec.Descriptor{MediaType: img.MediaType, Digest: img.Digest, Size: img.Size},
			"annotations": map[string]string{"dev.sigstore.bundle.predicateType": tc.predicate},
		})
		w.push(signedRepo, desc)
		w.list(signedRepo, img.Digest, desc)
		p := w.plan("  additionalImages: [{name: '" + signedRepo + ":v1'}]\n")
		at := slices.IndexFunc(p.Images, func(img plan.Image) bool { return img.Kind == plan.ReferrerImage })
		if at < 0 {
			t.Errorf("%s: no referrer in the plan; missing %v", tc.name, p.Missing)
			continue
		}
		if got := p.Images[at]; got.ArtifactType != tc.want || got.PredicateType != tc.wantPredicate {
			t.Errorf("%s: %q with %q", tc.name, got.ArtifactType, got.PredicateType)
		}
		if unsigned, all := p.Unsigned(); unsigned != tc.unsigned || all != 1 {
			t.Errorf("%s: %d of %d images unsigned", tc.name, unsigned, all)
		}
		reread(t, p)
	}
}

// TestDigestTagsOfImages checks that the tag for a list of referrers is left free, whether an image has
// referrers or not, and that such a tag of an image at a source is not read as a list.
func TestDigestTagsOfImages(t *testing.T) {
	t.Parallel()
	w := newSignedFixture(t, true)
	with, without := w.image("with"), w.image("without")
	w.push(signedRepo, with)
	w.push(tagName(signedRepo, without.Digest, ""), without)
	w.list(signedRepo, with.Digest, w.referrer(signedRepo, with.Digest, "bundle"))
	p := w.plan("  additionalImages: [{name: '" + signedRepo + "@" + with.Digest.String() + "'}, {name: '" + signedRepo + "@" + without.Digest.String() + "'}]\n")
	want := map[digest.Digest]string{with.Digest: "sha256-" + with.Digest.Encoded() + ".image", without.Digest: "sha256-" + without.Digest.Encoded() + ".image"}
	got := map[digest.Digest]string{}
	for _, img := range p.Images {
		if img.Subject == "" {
			got[img.Digest] = strings.Join(img.Tags, " ")
		}
	}
	fail.Diff(t, want, got)
	w.api = false
	p = w.plan("  additionalImages: [{name: '" + signedRepo + "@" + without.Digest.String() + "'}]\n")
	if len(attached(p))+len(p.Missing)+len(p.Notes) > 0 {
		t.Errorf("%v, missing %v, notes %v", attached(p), p.Missing, p.Notes)
	}
}

// TestWrongAttachments plans images with what is wrong beside them. The image itself is always planned.
func TestWrongAttachments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		place   func(w *signedFixture, of digest.Digest)
		want    int    // attachments
		missing string // in the reason of what is missing
		note    string // in a note
	}{
		{name: "a referrer of another image", place: func(w *signedFixture, of digest.Digest) {
			w.list(signedRepo, of, w.referrer(signedRepo, digest.FromString("another"), "x"), w.referrer(signedRepo, of, "y"))
		}, want: 1, note: "it is listed as a referrer of "},
		{name: "an image without a subject", place: func(w *signedFixture, of digest.Digest) {
			img := w.image("no subject")
			w.push(signedRepo, img)
			w.list(signedRepo, of, img)
		}, note: "it is listed as a referrer of "},
		{name: "a signature of another image", place: func(w *signedFixture, of digest.Digest) {
			w.push(tagName(signedRepo, of, ".sig"), w.referrer("", digest.FromString("another"), "x"))
		}, note: "but it refers to"},
		{name: "a manifest that is missing", place: func(w *signedFixture, of digest.Digest) {
			w.list(signedRepo, of, w.referrer("", of, "x"), w.referrer(signedRepo, of, "y"))
		}, want: 1, missing: "is not there"},
		{name: "a tag whose manifest is missing", place: func(w *signedFixture, of digest.Digest) {
			w.tags[tagName(signedRepo, of, ".att")] = digest.FromString("gone")
		}, missing: "is not there"},
		{name: "no list, but an image", place: func(w *signedFixture, of digest.Digest) {
			w.api = false
			w.push(tagName(signedRepo, of, ""), w.image("other"))
		}, note: "is reserved for a list of referrers, but it is another image; ignored"},
		{name: "no list, but rubbish", place: func(w *signedFixture, of digest.Digest) {
			w.api = false
			d := w.put(ocispec.MediaTypeImageIndex, []byte(`{"manifests":7}`))
			w.repos[signedRepo][d.Digest] = true
			w.tags[tagName(signedRepo, of, "")] = d.Digest
		}, missing: "cannot unmarshal"},
		{name: "a type of the past", place: func(w *signedFixture, of digest.Digest) {
			w.list(signedRepo, of, ocispec.Descriptor{MediaType: "application/vnd.oci.artifact.manifest.v1+json", Digest: digest.FromString("x"), Size: 1})
		}, note: "registries no longer accept its type"},
		{name: "too many", place: func(w *signedFixture, of digest.Digest) {
			all := make([]ocispec.Descriptor, maxAttachments+1)
			for i := range all {
				all[i] = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString(fmt.Sprint(i)), Size: 1}
			}
			w.list(signedRepo, of, all...)
		}, missing: "it has 1001 referrers, more than 1000"},
		{name: "it signs itself", place: func(w *signedFixture, of digest.Digest) {
			w.tags[tagName(signedRepo, of, ".sig")] = of
			w.list(signedRepo, of, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: of, Size: 1})
		}, note: "it is the image that it should belong to"},
		{name: "a circle", place: func(w *signedFixture, of digest.Digest) {
			sig := w.sign(signedRepo, of, ".sig")
			w.tags[tagName(signedRepo, sig.Digest, ".sig")] = of
		}, want: 2},
		{name: "a circle of referrers", place: func(w *signedFixture, of digest.Digest) {
			a := w.referrer(signedRepo, of, "a")
			w.list(signedRepo, of, a)
			w.list(signedRepo, a.Digest, a, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: of, Size: 1})
		}, want: 1, note: "it is listed as a referrer of "},
		{name: "a chain without end", place: func(w *signedFixture, of digest.Digest) {
			for i := range 10 {
				r := w.referrer(signedRepo, of, fmt.Sprint(i))
				w.list(signedRepo, of, r)
				of = r.Digest
			}
		}, want: maxAttachmentDepth, note: "up to a depth of 4"},
		{name: "a list of tags that fails", place: func(w *signedFixture, of digest.Digest) {
			w.sign(signedRepo, of, ".sig")
			w.tagError = errors.New("500")
		}, missing: "looking for signatures and other referrers: 500"},
		{name: "no list of tags", place: func(w *signedFixture, of digest.Digest) {
			w.sign(signedRepo, of, ".sig")
			w.list(signedRepo, of, w.referrer(signedRepo, of, "a"))
			w.tagError = fmt.Errorf("405: %w", errors.ErrUnsupported)
		}, want: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newSignedFixture(t, true)
			img := w.image("app")
			w.push(signedRepo+":v1", img)
			tc.place(w, img.Digest)
			p := w.plan("  additionalImages: [{name: '" + signedRepo + ":v1'}]\n")
			if got := attached(p); len(got) != tc.want || len(p.Images) != 1+tc.want {
				t.Errorf("attached: %v", got)
			}
			if (len(p.Missing) > 0) != (tc.missing != "") || len(p.Missing) > 0 && (!strings.Contains(p.Missing[0].Message, tc.missing) || !p.Missing[0].Kind.Belongs()) {
				t.Errorf("missing: %+v", p.Missing)
			}
			if found := slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, tc.note) }); tc.note == "" && len(p.Notes) > 0 || !found && tc.note != "" {
				t.Errorf("notes: %q", p.Notes)
			}
		})
	}
}

// TestManyTags lists at most as many pages of tags as are worth it.
func TestManyTags(t *testing.T) {
	t.Parallel()
	other := func(w *signedFixture, n int) {
		for i := range n {
			w.tags[tagName(signedRepo, digest.FromString(fmt.Sprint(i)), ".sig")] = "sha256:0"
		}
	}
	for _, tc := range []struct {
		name  string
		place func(w *signedFixture)
		want  map[string]int
	}{
		{"few", func(w *signedFixture) { other(w, 10) }, map[string]int{"pages": 1, "named": 1}},
		{"10,000 of other images", func(w *signedFixture) { other(w, 10_000) }, map[string]int{"pages": 11, "named": 1}},
		{"10,000 versions before them", func(w *signedFixture) {
			other(w, 10)
			for i := range 10_000 {
				w.tags[fmt.Sprintf("%s:1.%05d", signedRepo, i)] = "sha256:0"
			}
		}, map[string]int{"pages": 2, "named": 1}},
		{"10,000 versions after them", func(w *signedFixture) {
			other(w, 10)
			for i := range 10_000 {
				w.tags[fmt.Sprintf("%s:v1.%05d", signedRepo, i)] = "sha256:0"
			}
		}, map[string]int{"pages": 1, "named": 1}},
		{"a page is a small part", func(w *signedFixture) { other(w, 10_000); w.pageSize = 50 }, map[string]int{"pages": 2, "named": 4}},
		{"at most 16 pages", func(w *signedFixture) { other(w, 900); w.pageSize = 50 }, map[string]int{"pages": 16, "named": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newSignedFixture(t, false)
			img := w.image("app")
			w.push(signedRepo+":0", img)
			w.sign(signedRepo, img.Digest, ".sig")
			tc.place(w)
			p := w.plan("  additionalImages: [{name: '" + signedRepo + ":0'}]\n")
			fail.Diff(t, 1, len(attached(p)))
			delete(w.requests, "referrers")
			fail.Diff(t, tc.want, w.requests)
		})
	}
}

// TestAttachmentsOfBlockedAndConfigured checks what happens to signatures that the configuration names
// itself, blocks, or gets from two sources.
func TestAttachmentsOfBlockedAndConfigured(t *testing.T) {
	t.Parallel()
	w := newSignedFixture(t, false)
	img := w.image("app")
	w.push(signedRepo+":v1", img)
	w.sign(signedRepo, img.Digest, ".sig")
	w.sign(signedRepo, img.Digest, ".att")
	p := w.plan("  additionalImages: [{name: '" + signedRepo + ":v1'}, {name: '" + tagName(signedRepo, img.Digest, ".sig") + "'}]\n  blockedImages: [{name: '\\.att$'}]\n")
	if len(p.Images) != 2 || len(p.Blocked) != 1 || p.Blocked[0].Source != tagName(signedRepo, img.Digest, ".att") {
		t.Errorf("images %v, blocked %v", p.Images, p.Blocked)
	}
	// A signature that a second source has under the same tag does not replace the first one.
	other := "registry.example.com/org/app"
	w.push(other+":v1", img)
	w.push(tagName(other, img.Digest, ".sig"), w.image("another signature"))
	p = w.plan("  additionalImages: [{name: '" + signedRepo + ":v1'}, {name: '" + other + ":v1'}]\n")
	if got := attached(p); len(got) != 2 || !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "is left out, because org/app:sha256-") }) {
		t.Errorf("%v, notes %v", got, p.Notes)
	}
}

// TestSignaturesOfCatalogs checks that a catalog keeps its signatures, unless it is built again.
func TestSignaturesOfCatalogs(t *testing.T) {
	t.Parallel()
	c := threePackages(t)
	w := &signedFixture{fixture: c, pageSize: 1000, referrers: map[string][]ocispec.Descriptor{}, requests: map[string]int{}}
	original := w.tags[cutIndex]
	w.sign("quay.io/cat/index", original, ".sig")
	sources := c.sources()
	sources.Attachments = w
	note := "catalog " + cutIndex + " was built again: 1 signature or other referrer of the original do not cover it and are left out"
	for stanza, copied := range map[string]int{asItIs: 1, "  operators: [{catalog: '" + cutIndex + "', packages: [{name: a}]}]\n": 0} {
		p, err := Plan(t.Context(), parseConfig(t, stanza), "imageset", sources, Options{})
		if copied > 0 && err == nil { // and if it is built again later
			reduced, err := Reduce(t.Context(), c.lose(p, "quay.io/org/b-operand"), sources)
			if err != nil || len(attached(reduced.Plan)) > 0 || !slices.ContainsFunc(reduced.Plan.Notes, func(n string) bool { return strings.Contains(n, "referrers of the original do not cover it") }) {
				t.Errorf("reduced: %v, %v", reduced, err)
			}
		}
		if err != nil || len(attached(p)) != copied || slices.Contains(p.Notes, note) != (copied == 0) {
			t.Errorf("%s: %v, notes %q, %v", stanza, attached(p), p.Notes, err)
		}
	}
}
