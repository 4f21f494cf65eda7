package trust

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
	"github.com/gantry-mirror/gantry/pkg/signature/stored"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
)

// AcceptedImages is what a signature policy found in a run.
type AcceptedImages struct {
	found  *VerifiedSignatures
	Images *judgement
}

// Summary returns the counts; nil if no policy was applied.
func (a *AcceptedImages) Summary() *VerifiedSignatures {
	if a == nil {
		return nil
	}
	return a.found
}

// AcceptSources applies a policy to the images of a plan at their sources, and returns the plan of those
// that it accepts. The others are missing. Without a policy, it returns the plan.
func AcceptSources(ctx context.Context, s *workspace.Session, of *SignaturePolicy, p *plan.Plan) (*plan.Plan, error) {
	if of == nil {
		return p, nil
	}
	images := s.Sources.Origin.Planning()
	v := of.verifier(&stored.Finder{
		Images: images, Get: &SignatureStores{Client: s.Client, Unreachable: map[string]error{}},
		Referrers: func(ctx context.Context, img policy.Image) ([]ocispec.Descriptor, error) {
			return s.Client.ListedReferrers(ctx, img.Reference.Repository().WithDigest(img.Digest))
		},
	})
	of.useCosign(v, policy.Image.String)
	recorder := newSignatureRecorder(v.Finder)
	v.Finder = recorder
	q, err := accept(ctx, s, of, v, images, p)
	if err != nil {
		return nil, err
	}
	return recorder.record(q, of.found.Images), nil
}

// AcceptArchived is AcceptSources with the signatures in an archive.
func AcceptArchived(ctx context.Context, s *workspace.Session, of *SignaturePolicy, p *plan.Plan, have *archive.Archive, t site.Destination) (*plan.Plan, error) {
	if of == nil {
		return p, nil
	}
	var images image.Reader = have
	if r := t.Registry(); r != nil && len(have.Selected().BuildsOn) > 0 {
		images = airgap.SourceWithSite(have, &r.Site, p)
	}
	f := plannedSignatures(images, p)
	f.Get = &SignatureStores{Client: s.Client, Unreachable: map[string]error{}}
	return accept(ctx, s, of, of.verifier(f), nil, p)
}

// plannedSignatures returns a finder of the signatures that a plan lists.
func plannedSignatures(images image.Reader, p *plan.Plan) *stored.Finder {
	tags := map[string]digest.Digest{}
	referrers := map[string][]digest.Digest{} // by what they refer to
	for i := range p.Images {
		switch img := &p.Images[i]; {
		case !IsAttachment(img):
		case img.Kind == plan.ReferrerImage:
			if ref, err := reference.Parse(img.Source); err == nil {
				subject := ref.Name() + "@" + img.Subject.String()
				referrers[subject] = append(referrers[subject], img.Digest)
			}
		default:
			tags[img.Source] = img.Digest
		}
	}
	return &stored.Finder{
		Images: images, Carried: carriedSignatures(p),
		Tag: func(img policy.Image, tag string) (digest.Digest, error) {
			if d, ok := tags[img.Reference.Name()+":"+tag]; ok {
				return d, nil
			}
			return "", fs.ErrNotExist
		},
		Referrers: func(ctx context.Context, img policy.Image) ([]ocispec.Descriptor, error) {
			var all []ocispec.Descriptor
			for _, d := range referrers[img.String()] {
				desc, err := artifactType(ctx, images, img.Reference.Name(), d)
				if err != nil {
					return nil, err
				}
				all = append(all, desc)
			}
			return all, nil
		},
	}
}

// accept applies a policy to a plan. sources reads the images from which others were built, if they
// exist.
func accept(ctx context.Context, s *workspace.Session, of *SignaturePolicy, v *policy.Verifier, sources image.Reader, p *plan.Plan) (*plan.Plan, error) {
	found, err := judgeAll(ctx, s.Env, v, sources, p)
	if err != nil {
		return nil, err
	}
	q, err := found.apply(p, of.policy)
	if err != nil {
		return nil, err
	}
	of.found = &AcceptedImages{found: found.summary(of.policy), Images: found}
	return q, nil
}

// judgeAll judges the images of a plan.
func judgeAll(ctx context.Context, e *env.Env, v *policy.Verifier, sources image.Reader, p *plan.Plan) (*judgement, error) {
	streams, err := env.Streams(&e.Registries)
	if err != nil {
		return nil, err
	}
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	e.Noticef("verifying the signatures of %s by %s", env.Number(len(p.Images), "image", "images"), v.Policy.Name)
	return (&judge{verifier: v, contents: contents, streams: streams, sources: sources}).judge(ctx, p)
}

// A RefusedImage is an image of a mirror that the signature policy does not accept.
type RefusedImage struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// JudgeMirror applies a policy to the images of a plan at a mirror. Signatures are read from there.
func JudgeMirror(ctx context.Context, e *env.Env, of *SignaturePolicy, t *site.RegistryDestination, p *plan.Plan) (*VerifiedSignatures, []RefusedImage, error) {
	if _, err := t.Push(p); err != nil {
		return nil, nil, err
	}
	names := map[string]reference.Reference{} // in the mirror
	for i := range p.Images {
		if ref, err := reference.Parse(p.Images[i].Source); err == nil {
			names[ref.String()] = t.InMirror(p.Images[i].Repository)
		}
	}
	at := func(img policy.Image) string { return names[img.Reference.String()].Name() }
	v := of.verifier(&stored.Finder{
		Images: site.NewMirrorImages(t.Client), Source: at, Get: &SignatureStores{Client: t.Client, Unreachable: map[string]error{}}, Carried: carriedSignatures(p),
		Referrers: func(ctx context.Context, img policy.Image) ([]ocispec.Descriptor, error) {
			return t.Client.ListedReferrers(ctx, names[img.Reference.String()].WithDigest(img.Digest))
		},
	})
	of.useCosign(v, func(img policy.Image) string { return at(img) + "@" + img.Digest.String() })
	found, err := judgeAll(ctx, e, v, nil, p)
	if err != nil {
		return nil, nil, err
	}
	var refused []RefusedImage
	for _, d := range found.images {
		if d.err != nil {
			refused = append(refused, RefusedImage{d.name, d.err.Error()})
		}
	}
	elements.Sort(refused, func(a, b RefusedImage) int { return strings.Compare(a.Source, b.Source) })
	return found.summary(of.policy), refused, nil
}

// artifactType returns the descriptor of a referrer with the type in its manifest.
func artifactType(ctx context.Context, images image.Reader, source string, d digest.Digest) (ocispec.Descriptor, error) {
	desc, raw, err := images.Manifest(ctx, source, d)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var m struct {
		ArtifactType string             `json:"artifactType"`
		Config       ocispec.Descriptor `json:"config"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("reading %s: %w", d, err)
	}
	if desc.ArtifactType = m.ArtifactType; desc.ArtifactType == "" {
		desc.ArtifactType = m.Config.MediaType
	}
	return desc, nil
}
