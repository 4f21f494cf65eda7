package build

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

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/plan"
)

// findSignatures finds the sigstore signatures that are stored beside payloads, their children,
// components and boot images, and verifies them by the policy that the release contains for its
// clusters. They become part of the plan. If a release requires a signature that is missing or
// invalid, the result has that error, so that the release is not published.
func findSignatures(ctx context.Context, graph *manifestGraph, payloads []selectedRelease, all []resolvedImage, sources Sources, opts Options) ([]resolvedImage, []string, error) {
	if len(payloads) == 0 {
		return nil, nil, nil
	}
	requests, signed := requestSignatures(graph, all)
	policies, notes := policiesOf(payloads)
	needed := requiringSignatures(payloads)
	found := make([]resolvedImage, len(requests))
	err := eachOf(ctx, len(requests), opts.Jobs, func(ctx context.Context, i int) error {
		w := requests[i]
		s := signed[w.source]
		// There are as many signatures as images, so their manifests are not cached.
		desc, raw, err := sources.uncached.Manifest(ctx, w.source, "")
		switch {
		case err == nil:
			if err = addSignature(ctx, graph, w, desc, raw); err == nil {
				err = verifySignature(ctx, sources.Images, raw, w, s, policies)
			}
		case !errors.Is(err, fs.ErrNotExist):
		case s.optional || !slices.ContainsFunc(w.reasons, func(b plan.Reason) bool { return needed[b.Release] }):
			return nil // not required
		default:
			err = fmt.Errorf("the signatures of %s are missing, and clusters of OpenShift 4.21 and later do not pull without them: %w", s.digest, err)
		}
		found[i] = resolvedImage{request: w, digest: desc.Digest, err: err}
		return nil
	})
	return slices.DeleteFunc(found, func(r resolvedImage) bool { return r.request == nil }), notes, err
}

// A signedImage is an image that has, or should have, signatures. They are optional for indexes,
// which are usually not signed, and for boot images, which clusters do not run.
type signedImage struct {
	repository string
	digest     digest.Digest
	optional   bool
}

// requestSignatures returns requests for the signatures of images of releases, and the signed images
// by the source of the signature.
func requestSignatures(graph *manifestGraph, all []resolvedImage) ([]*imageRequest, map[string]signedImage) {
	set := newRequestSet()
	signed := map[string]signedImage{}
	for _, r := range all {
		kind := r.request.kind
		if r.err != nil || kind != plan.ReleaseImage && kind != plan.ComponentImage && kind != plan.BootImage {
			continue
		}
		for _, d := range graph.reachable(r.digest) {
			ref := r.request.ref
			ref.Digest, ref.Tag = "", cosign.Tag(d)
			set.add(imageRequest{
				source: ref.String(), ref: ref, kind: plan.SignatureImage, repo: r.request.repo, tags: []string{ref.Tag}, reasons: r.request.reasons, position: r.request.position,
			})
			s := signedImage{repository: ref.Name(), digest: d, optional: kind == plan.BootImage || len(graph.node(d).children) > 0}
			if other, ok := signed[ref.String()]; ok {
				s.optional = s.optional && other.optional
			}
			signed[ref.String()] = s
		}
	}
	return set.sorted(), signed
}

// addSignature adds a signature image, whose manifest was read, to the graph.
func addSignature(ctx context.Context, graph *manifestGraph, w *imageRequest, desc ocispec.Descriptor, raw []byte) error {
	if err := graph.add(desc, raw); err != nil {
		return err
	}
	return graph.resolve(ctx, w, desc, 0)
}

// policiesOf returns the policies for signatures that releases contain, by name of the release. A
// policy that Gantry cannot evaluate becomes a note; clusters evaluate it.
func policiesOf(payloads []selectedRelease) (policies map[string][]*cosign.Policy, notes []string) {
	policies = map[string][]*cosign.Policy{}
	parsed := map[string]*cosign.Policy{} // by text: most releases have the same one
	for _, p := range payloads {
		for _, text := range p.payload.Policies {
			policy := parsed[string(text)]
			if policy == nil {
				var err error
				if policy, err = cosign.ParsePolicy(text); err != nil {
					notes = append(notes, fmt.Sprintf("release %s: signatures of images are copied, but not verified: %v", p.name(), err))
					continue
				}
				parsed[string(text)] = policy
			}
			policies[p.name()] = append(policies[p.name()], policy)
		}
	}
	return policies, notes
}

// verifySignature verifies signatures, whose manifest is raw, by the policies of all releases that
// contain the signed image.
func verifySignature(ctx context.Context, images image.Reader, raw []byte, w *imageRequest, s signedImage, policies map[string][]*cosign.Policy) error {
	blob := func(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
		r, err := images.Blob(ctx, w.source, desc, 0)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(r, cosign.MaxPayload+1))
		return text, errors.Join(err, r.Close())
	}
	verified := map[*cosign.Policy]bool{}
	for _, reason := range w.reasons {
		for _, policy := range policies[reason.Release] {
			if verified[policy] || !policy.Covers(s.repository) {
				continue
			}
			verified[policy] = true
			if err := cosign.Verify(ctx, raw, blob, s.repository, s.digest, policy); err != nil {
				return err
			}
		}
	}
	return nil
}

// requiringSignatures returns the names of the releases whose clusters refuse images without
// signatures.
func requiringSignatures(payloads []selectedRelease) map[string]bool {
	all := map[string]bool{}
	for _, p := range payloads {
		v, err := semver.Parse(p.version)
		all[p.name()] = err == nil && cosign.Needed(v)
	}
	return all
}

// reachable returns the manifest d and its selected children.
func (g *manifestGraph) reachable(d digest.Digest) []digest.Digest {
	n := g.node(d)
	all := []digest.Digest{d}
	for _, c := range n.children {
		if n.selected[c.Digest] {
			all = append(all, g.reachable(c.Digest)...)
		}
	}
	return all
}
