package plan

import (
	"testing"

	"github.com/opencontainers/go-digest"
)

// TestUnsigned checks which images count as mirrored without a signature.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	of := digest.FromString
	image := func(name string, kind ImageKind, subject digest.Digest) Image {
		img := Image{Source: "quay.io/org/" + name + ":v1", Kind: kind, Digest: of(name), Repository: "org/app", Tags: []string{name}, Subject: subject}
		if kind == ReferrerImage {
			img.Tags = nil
		}
		return img
	}
	referrer := func(artifactType, predicate string) Image {
		img := image("sig", ReferrerImage, of("one"))
		img.ArtifactType, img.PredicateType = artifactType, predicate
		return img
	}
	for _, tc := range []struct {
		name          string
		images        []Image
		unsigned, all int
	}{
		{"nothing", nil, 0, 0},
		{"no signature", []Image{image("one", AdditionalImage, "")}, 1, 1},
		{"two names", []Image{image("one", AdditionalImage, ""), image("one", RelatedImage, "")}, 1, 1},
		{"a tag", []Image{image("one", AdditionalImage, ""), image("sig", SignatureImage, of("one"))}, 0, 1},
		{"a bundle of sigstore", []Image{image("one", AdditionalImage, ""), referrer("application/vnd.dev.sigstore.bundle.v0.3+json", "")}, 0, 1},
		{"a bundle of cosign 3", []Image{image("one", AdditionalImage, ""), referrer("application/vnd.dev.sigstore.bundle.v0.3+json", "https://sigstore.dev/cosign/sign/v1")}, 0, 1},
		{"an attestation", []Image{image("one", AdditionalImage, ""), referrer("application/vnd.dev.sigstore.bundle.v0.3+json", "https://slsa.dev/provenance/v1")}, 1, 1},
		{"an artifact of cosign", []Image{image("one", AdditionalImage, ""), referrer("application/vnd.dev.cosign.artifact.sig.v1+json", "")}, 0, 1},
		{"an SBOM of cosign", []Image{image("one", AdditionalImage, ""), referrer("application/vnd.dev.cosign.artifact.sbom.v1+json", "")}, 1, 1},
		{"a signature of notation", []Image{image("one", AdditionalImage, ""), referrer("application/vnd.cncf.notary.signature", "")}, 0, 1},
		{"an SBOM", []Image{image("one", AdditionalImage, ""), referrer("application/spdx+json", "")}, 1, 1},
		{"a referrer of an earlier plan", []Image{image("one", AdditionalImage, ""), image("sig", ReferrerImage, of("one"))}, 0, 1},
		{"of another image", []Image{image("one", AdditionalImage, ""), image("sig", SignatureImage, of("two"))}, 1, 1},
		{"a bill of materials", []Image{image("one", AdditionalImage, ""), image("sbom", SBOMImage, of("one"))}, 1, 1},
		{"an index", []Image{image("index", AdditionalImage, ""), image("sig", SignatureImage, of("index"))}, 0, 1},
		{"one image of an index", []Image{image("index", AdditionalImage, ""), image("sig", SignatureImage, of("one"))}, 1, 1},
		{"all images of an index", []Image{image("index", AdditionalImage, ""), image("sig", SignatureImage, of("one")), image("sbom", ReferrerImage, of("two"))}, 0, 1},
		{"what Gantry builds", []Image{image("one", GraphImage, ""), image("two", ChartImage, ""), image("sig", FileImage, "")}, 0, 0},
	} {
		p := &Plan{Images: tc.images}
		for _, name := range []string{"one", "two", "sig", "sbom"} {
			p.Manifests = append(p.Manifests, Manifest{Digest: of(name), Size: 1})
		}
		p.Manifests = append(p.Manifests, Manifest{Digest: of("index"), Size: 1, Manifests: []digest.Digest{of("one"), of("two")}})
		if unsigned, all := p.Unsigned(); unsigned != tc.unsigned || all != tc.all {
			t.Errorf("%s: %d of %d, want %d of %d", tc.name, unsigned, all, tc.unsigned, tc.all)
		}
	}
	signed := image("one", ComponentImage, "")
	signed.Reasons = []Reason{{Release: "4.20.5-x86_64"}}
	p := &Plan{Images: []Image{signed}, Manifests: []Manifest{{Digest: of("one"), Size: 1}}, Releases: []Release{{Version: "4.20.5", Arch: "x86_64", Signatures: []Signature{{}}}}}
	if unsigned, all := p.Unsigned(); unsigned != 0 || all != 1 {
		t.Errorf("of a signed release: %d of %d (release %s)", unsigned, all, p.Releases[0].Name())
	}
}
