package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
)

// signatures finds the signatures that cosign put beside the payloads, their
// shards, the components, the images of their lists and boot images, and verifies
// them by the policy that the release brings for its clusters. Those that there are
// belong to the plan; where a release needs one that is missing or wrong, the result
// has that error, so that the release is held back.
func (p *platform) signatures(ctx context.Context, f *forest, all []resolved) ([]resolved, error) {
	if len(p.payloads) == 0 {
		return nil, nil
	}
	ws := newWishes()
	signed := map[string]signedImage{} // by source of the signature
	for _, r := range all {
		switch {
		case r.err != nil:
			continue
		case r.wish.kind != ReleaseImage && r.wish.kind != ComponentImage && r.wish.kind != BootImage:
			continue
		}
		for _, d := range f.below(r.digest) {
			ref := r.wish.ref
			ref.Digest, ref.Tag = "", cosign.Tag(d)
			ws.add(wish{
				source: ref.String(), ref: ref, kind: SignatureImage, repo: r.wish.repo, tags: []string{ref.Tag}, because: r.wish.because, pos: r.wish.pos,
			})
			s := signedImage{repository: ref.Name(), digest: d, optional: r.wish.kind == BootImage || len(f.tree(d).children) > 0}
			if other, ok := signed[ref.String()]; ok {
				s.optional = s.optional && other.optional
			}
			signed[ref.String()] = s
		}
	}
	wishes, policies, needed := ws.sorted(), p.policies(), p.needingCosigned()
	found := make([]resolved, len(wishes))
	err := eachOf(ctx, len(wishes), p.opts.Jobs, func(ctx context.Context, i int) error {
		w := wishes[i]
		s := signed[w.source]
		// There are as many as images, so the text of none is held.
		desc, raw, err := p.from.fresh.Manifest(ctx, w.source, "")
		switch {
		case err == nil:
			err = p.signature(ctx, f, w, s, policies, desc, raw)
		case !errors.Is(err, fs.ErrNotExist):
		case s.optional || !slices.ContainsFunc(w.because, func(b Because) bool { return needed[b.Release] }):
			return nil // nobody asks for it
		default:
			err = fmt.Errorf("the signatures of %s are not there, and clusters of OpenShift 4.21 and later do not pull without: %w", s.digest, err)
		}
		found[i] = resolved{wish: w, digest: desc.Digest, err: err}
		return nil
	})
	return slices.DeleteFunc(found, func(r resolved) bool { return r.wish == nil }), err
}

// signature enters and verifies the signatures of an image, whose manifest was read.
func (p *platform) signature(ctx context.Context, f *forest, w *wish, s signedImage, policies map[string][]*cosign.Policy, desc ocispec.Descriptor, raw []byte) error {
	if err := f.plant(desc, raw); err != nil {
		return err
	}
	if err := f.grow(ctx, w, desc, 0); err != nil {
		return err
	}
	return p.verifyCosigned(ctx, raw, w, s, policies)
}

// signedImage is an image that has, or should have, signatures beside it. Lists are
// mostly not signed, and boot images are started by others than the cluster.
type signedImage struct {
	repository string
	digest     digest.Digest
	optional   bool
}

// policies are what the releases ask of signatures, by name of the release. One
// that cannot be followed here is left to the clusters, and to a note.
func (p *platform) policies() map[string][]*cosign.Policy {
	all := map[string][]*cosign.Policy{}
	same := map[string]*cosign.Policy{} // by text: most releases have the one
	for _, t := range p.payloads {
		for _, text := range t.payload.Policies {
			policy := same[string(text)]
			if policy == nil {
				var err error
				if policy, err = cosign.ParsePolicy(text); err != nil {
					p.notes = append(p.notes, fmt.Sprintf("release %s: signatures of images are copied, but not verified: %v", t.name(), err))
					continue
				}
				same[string(text)] = policy
			}
			all[t.name()] = append(all[t.name()], policy)
		}
	}
	return all
}

// verifyCosigned holds the signatures, whose manifest is raw, to the policies of all
// releases that have the image.
func (p *platform) verifyCosigned(ctx context.Context, raw []byte, w *wish, s signedImage, policies map[string][]*cosign.Policy) error {
	blob := func(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
		r, err := p.from.Images.Blob(ctx, w.source, desc)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(r, cosign.MaxPayload+1))
		return text, errors.Join(err, r.Close())
	}
	met := map[*cosign.Policy]bool{}
	for _, b := range w.because {
		for _, policy := range policies[b.Release] {
			if met[policy] || !policy.Covers(s.repository) {
				continue
			}
			met[policy] = true
			if err := cosign.Verify(ctx, raw, blob, s.repository, s.digest, policy); err != nil {
				return err
			}
		}
	}
	return nil
}

// needingCosigned are the names of the releases that refuse images without
// signatures.
func (p *platform) needingCosigned() map[string]bool {
	all := map[string]bool{}
	for _, t := range p.payloads {
		v, err := semver.Parse(t.version)
		all[t.name()] = err == nil && cosign.Needed(v)
	}
	return all
}

// below are the manifest d and the children of it that are wanted.
func (f *forest) below(d digest.Digest) []digest.Digest {
	t := f.tree(d)
	all := []digest.Digest{d}
	for _, c := range t.children {
		if t.kept[c.Digest] {
			all = append(all, f.below(c.Digest)...)
		}
	}
	return all
}
