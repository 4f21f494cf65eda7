package trust

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// signedDigests is a finder of signatures of some digests.
type signedDigests struct {
	key    *ecdsa.PrivateKey
	signed map[digest.Digest]bool
}

func (f *signedDigests) Simple(context.Context, policy.Image) ([][]byte, error) { return nil, nil }

func (f *signedDigests) Sigstore(_ context.Context, img policy.Image) (*policy.Attached, error) {
	if !f.signed[img.Digest] {
		return &policy.Attached{}, nil
	}
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"}}`, img.Reference.Name(), img.Digest)
	sum := sha256.Sum256(payload)
	signature, err := f.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	desc := ocispec.Descriptor{Digest: digest.FromBytes(payload), Size: int64(len(payload))}
	return &policy.Attached{Signatures: []policy.Attachment{{Signature: cosign.Signature{Payload: desc, Bytes: signature}, Payload: payload}}}, nil
}

// TestJudgeIndex: each image of an index has to be signed, or else the index; only the former is what
// nodes accept.
func TestJudgeIndex(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail.On(t, err)
	text := `{"default":[{"type":"sigstoreSigned","keyPath":"k","signedIdentity":{"type":"matchRepository"}}]}`
	of, err := policy.Parse("p", []byte(text), func(string) ([]byte, error) { return cosign.MarshalKey(key.Public()), nil })
	fail.On(t, err)
	ref, err := reference.Parse("quay.io/org/app:v1")
	fail.On(t, err)
	index, one, two := digest.FromString("index"), digest.FromString("one"), digest.FromString("two")
	for name, tc := range map[string]struct {
		signed []digest.Digest
		want   string
		nodes  bool
	}{
		"images":            {[]digest.Digest{one, two}, "", true},
		"everything":        {[]digest.Digest{index, one, two}, "", true},
		"the index":         {[]digest.Digest{index}, "", false},
		"the index and one": {[]digest.Digest{index, one}, "", false},
		"one":               {[]digest.Digest{one}, two.String() + ": sigstoreSigned requires a signature, and there is none", false},
		"nothing":           {nil, "there is none", false},
	} {
		f := &signedDigests{key: key, signed: map[digest.Digest]bool{}}
		for _, d := range tc.signed {
			f.signed[d] = true
		}
		j := &judge{verifier: &policy.Verifier{Policy: of, Finder: f}}
		d := &judged{image: policy.Image{Reference: ref, Digest: index}, leaves: []digest.Digest{one, two}}
		err := j.image(t.Context(), d)
		if d.nodes != tc.nodes || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, nodes %t; want %q, %t", name, err, d.nodes, tc.want, tc.nodes)
		}
		if err == nil && (len(d.signers) != 1 || len(d.planSigners()) != 1) {
			t.Errorf("%s: signers %v", name, d.signers)
		}
	}
}

// TestIsAttachment: a plan excuses nothing from the policy by calling it a signature.
func TestIsAttachment(t *testing.T) {
	t.Parallel()
	tag := cosign.Tag(digest.FromString("x"))
	for _, tc := range []struct {
		img  plan.Image
		want bool
	}{
		{plan.Image{Kind: plan.SignatureImage, Tags: []string{tag}}, true},
		{plan.Image{Kind: plan.SBOMImage, Tags: []string{strings.Replace(tag, ".sig", ".sbom", 1)}}, true},
		{plan.Image{Kind: plan.ReferrerImage}, true},
		{plan.Image{Kind: plan.SignatureImage, Tags: []string{"v1"}}, false},
		{plan.Image{Kind: plan.SignatureImage, Tags: []string{tag, "v1"}}, false},
		{plan.Image{Kind: plan.ReferrerImage, Tags: []string{"v1"}}, false},
		{plan.Image{Kind: plan.RelatedImage, Tags: []string{tag}}, false},
	} {
		if got := IsAttachment(&tc.img); got != tc.want {
			t.Errorf("%s %v: %t", tc.img.Kind, tc.img.Tags, got)
		}
	}
}

// TestJudgeRewrittenImage: what covers a smaller index at the source is the original; elsewhere, a plan excuses
// nothing from the policy by calling it rewritten.
func TestJudgeRewrittenImage(t *testing.T) {
	t.Parallel()
	index, original, one := digest.FromString("index"), digest.FromString("original"), digest.FromString("one")
	p := &plan.Plan{
		Images: []plan.Image{{Source: "quay.io/org/app:v1", Kind: plan.AdditionalImage, Digest: index, RewrittenFrom: original, Repository: "org/app", Tags: []string{"v1"}}, {Source: "quay.io/org/app:sig", Kind: plan.SignatureImage, Digest: one, Repository: "org/app", Subject: index}},
		Manifests: []plan.Manifest{
			{Digest: index, MediaType: ocispec.MediaTypeImageIndex, Size: 1, Manifests: []digest.Digest{one}},
			{Digest: one, MediaType: ocispec.MediaTypeImageManifest, Size: 1},
		},
	}
	contents, err := p.Contents()
	fail.On(t, err)
	for want, sources := range map[digest.Digest]image.Reader{original: site.NewMirrorImages(nil), index: nil} {
		all, err := (&judge{contents: contents, sources: sources}).collect(t.Context(), p)
		fail.On(t, err)
		d := all.images[JudgedName("quay.io/org/app:v1", want)]
		if d == nil || len(all.images) != 1 || all.built > 0 || len(d.leaves) != 1 || d.leaves[0] != one {
			t.Errorf("judged %v, want %s", all.images, want)
			continue
		}
		d.err = errors.New("refused")
		if _, err := all.apply(p, &policy.Policy{Digest: digest.FromString("policy")}); err == nil || !strings.Contains(err.Error(), "none of 1 images is accepted") {
			t.Errorf("applied: %v", err)
		}
	}
}
