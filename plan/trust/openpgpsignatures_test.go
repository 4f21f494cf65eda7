package trust

import (
	"context"
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
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
	"github.com/gantry-mirror/gantry/pkg/signature/stored"
)

// storedSignatures is a finder of OpenPGP signatures by the digest of the image.
type storedSignatures map[digest.Digest][][]byte

func (s storedSignatures) Simple(_ context.Context, img policy.Image) ([][]byte, error) {
	return s[img.Digest], nil
}

func (s storedSignatures) Sigstore(context.Context, policy.Image) (*policy.Attached, error) {
	return &policy.Attached{}, nil
}

// unreachable is a web server that cannot be reached.
type unreachable struct{}

func (unreachable) Get(context.Context, string, string, int64) ([]byte, error) {
	return nil, errors.New("no route to host")
}

// simplySigned returns a plan of an index with two images, and the policy that demands a signature of each.
func simplySigned(t *testing.T) (p *plan.Plan, of *policy.Policy, sign func(d digest.Digest) []byte) {
	t.Helper()
	keys, err := releasetest.FixedKeys()
	fail.On(t, err)
	const source = "quay.io/org/app:v1"
	p = &plan.Plan{
		Kind: plan.Kind, Version: plan.Version, Name: "p",
		Images: []plan.Image{{Source: source, Kind: plan.AdditionalImage, Digest: digest.FromString("index"), Repository: "org/app", Tags: []string{"v1"}, Size: 3}},
		Manifests: []plan.Manifest{
			{Digest: digest.FromString("index"), MediaType: ocispec.MediaTypeImageIndex, Size: 1, Manifests: []digest.Digest{digest.FromString("one"), digest.FromString("two")}},
			{Digest: digest.FromString("one"), MediaType: ocispec.MediaTypeImageManifest, Size: 1},
			{Digest: digest.FromString("two"), MediaType: ocispec.MediaTypeImageManifest, Size: 1},
		},
	}
	slices.SortFunc(p.Manifests, func(a, b plan.Manifest) int { return strings.Compare(a.Digest.String(), b.Digest.String()) })
	p.Totals = p.Count()
	text := `{"default":[{"type":"signedBy","keyType":"GPGKeys","keyPath":"k"}]}`
	if of, err = policy.Parse("p", []byte(text), func(string) ([]byte, error) { return keys.OpenPGP, nil }); err != nil {
		t.Fatal(err)
	}
	return p, of, func(d digest.Digest) []byte {
		body, err := keys.Sign(source, d)
		fail.On(t, err)
		return body
	}
}

// judgeSimple applies the policy with a finder to a plan.
func judgeSimple(t *testing.T, of *policy.Policy, f policy.Finder, p *plan.Plan) (*judgement, *plan.Plan, error) {
	t.Helper()
	contents, err := p.Contents()
	fail.On(t, err)
	found, err := (&judge{verifier: &policy.Verifier{Policy: of, Finder: f}, contents: contents}).judge(t.Context(), p)
	fail.On(t, err)
	q, err := found.apply(p, of)
	return found, q, err
}

// TestCarriedSignatures: a plan carries the OpenPGP signatures that were found when it was made. They are
// verified again without a network, and a changed or missing one is refused.
func TestCarriedSignatures(t *testing.T) {
	t.Parallel()
	index, one, two := digest.FromString("index"), digest.FromString("one"), digest.FromString("two")
	p, of, sign := simplySigned(t)
	for name, tc := range map[string]struct {
		stored storedSignatures
		want   int
	}{
		"images":               {storedSignatures{one: {sign(one)}, two: {sign(index), sign(two)}}, 3},
		"the index":            {storedSignatures{index: {sign(index)}}, 1},
		"pages of a server":    {storedSignatures{index: {[]byte("<html>"), sign(index), []byte("<html>")}}, 1},
		"more than a plan has": {storedSignatures{index: append([][]byte{sign(index)}, slices.Repeat([][]byte{sign(one)}, 1024)...)}, 0},
	} {
		recorder := newSignatureRecorder(tc.stored)
		found, q, err := judgeSimple(t, of, recorder, p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		q = recorder.record(q, found)
		if err := q.Check(); err != nil || len(q.Images[0].Signatures) != tc.want || (len(q.Notes) == 0) != (tc.want > 0) {
			t.Errorf("%s: %d signatures, notes %q: %v", name, len(q.Images[0].Signatures), q.Notes, err)
		}
		if len(p.Images[0].Signatures) > 0 {
			t.Errorf("%s: the plan was changed", name)
		}
		again := &stored.Finder{Carried: carriedSignatures(q), Get: unreachable{}, Lookaside: "https://sigs.example.com"}
		_, _, err = judgeSimple(t, of, again, q)
		if (err == nil) != (tc.want > 0) {
			t.Errorf("%s: at the site: %v", name, err)
		}
		// Another run records what it finds, and nothing else.
		empty := newSignatureRecorder(storedSignatures{})
		if r := empty.record(q, found); len(r.Images[0].Signatures) > 0 {
			t.Errorf("%s: signatures of another run stay", name)
		}
	}

	full := *p
	full.Images = slices.Clone(p.Images)
	full.Images[0].Signatures = []plan.Signature{{Digest: one, Body: sign(one)}, {Digest: two, Body: sign(two)}}
	for name, tc := range map[string]struct {
		alter func(all []plan.Signature) []plan.Signature
		want  string
	}{
		"as planned": {func(all []plan.Signature) []plan.Signature { return all }, ""},
		"changed": {func(all []plan.Signature) []plan.Signature {
			all[1].Body[len(all[1].Body)-1] ^= 1
			return all
		}, "signedBy accepts no signature: signature 1"},
		"exchanged": {func(all []plan.Signature) []plan.Signature {
			all[0].Digest, all[1].Digest = all[1].Digest, all[0].Digest
			return all
		}, "it signs another image"},
		"one is missing":  {func(all []plan.Signature) []plan.Signature { return all[:1] }, "signedBy requires a signature, and there is none"},
		"all are missing": {func([]plan.Signature) []plan.Signature { return nil }, "no route to host"},
	} {
		q := full
		q.Images = slices.Clone(full.Images)
		all := slices.Clone(full.Images[0].Signatures)
		for i := range all {
			all[i].Body = slices.Clone(all[i].Body)
		}
		q.Images[0].Signatures = tc.alter(all)
		f := &stored.Finder{Carried: carriedSignatures(&q), Get: unreachable{}, Lookaside: "https://sigs.example.com"}
		_, _, err := judgeSimple(t, of, f, &q)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestRoomForSignatures: a plan carries no more signatures than it has room for, and a note counts the images.
func TestRoomForSignatures(t *testing.T) {
	t.Parallel()
	p, of, sign := simplySigned(t)
	second := p.Images[0]
	second.Repository = "org/copy"
	p.Images = append(p.Images, second)
	p.Totals = p.Count()
	index := digest.FromString("index")
	body := sign(index)
	recorder := newSignatureRecorder(storedSignatures{index: {body}})
	recorder.room = 2*len(body) - 1
	found, q, err := judgeSimple(t, of, recorder, p)
	fail.On(t, err)
	q = recorder.record(q, found)
	if len(q.Images[0].Signatures) != 1 || len(q.Images[1].Signatures) != 0 || len(q.Notes) != 1 || !strings.HasPrefix(q.Notes[0], "the OpenPGP signatures of 1 image are not carried: a plan has room for ") || q.Check() != nil {
		t.Errorf("%+v, notes %q: %v", q.Images, q.Notes, q.Check())
	}
}

// TestCarriedSignaturesOfTags: two tags of one image have the same signatures, and another image has none.
func TestCarriedSignaturesOfTags(t *testing.T) {
	t.Parallel()
	p, _, sign := simplySigned(t)
	d := p.Images[0].Digest
	p.Images[0].Signatures = []plan.Signature{{Digest: d, Body: sign(d)}}
	second := p.Images[0]
	second.Repository = "org/copy"
	p.Images = append(p.Images, second)
	carried := carriedSignatures(p)
	for name, want := range map[string]string{"quay.io/org/app:v1": "1 true", "quay.io/org/app:v2": "0 false", "quay.io/org/other:v1": "0 false"} {
		ref, err := reference.Parse(name)
		fail.On(t, err)
		bodies, ok := carried(policy.Image{Reference: ref, Digest: d})
		if got := fmt.Sprint(len(bodies), ok); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if _, ok := carried(policy.Image{Layout: "/x", Digest: d}); ok {
		t.Error("an image of a layout has signatures")
	}
	bare, err := p.WithoutSignatures()
	if err != nil || len(bare.Images[0].Signatures) > 0 || len(p.Images[0].Signatures) == 0 {
		t.Errorf("%v %v", bare, err)
	}
	if text, err := json.Marshal(bare.Images[0]); err != nil || strings.Contains(string(text), "signatures") {
		t.Errorf("%s %v", text, err)
	}
}
