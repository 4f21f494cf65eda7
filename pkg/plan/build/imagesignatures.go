package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
)

// A signedImage is a manifest of a release: a payload, a component, a boot image or one of their
// children. Its signatures are verified by the policies that releases contain for their clusters. If a
// release requires a signature that is missing or invalid, the release is not published.
type signedImage struct {
	repository string
	digest     digest.Digest
	reasons    []plan.Reason
	// required means that clusters do not pull it without signatures. Indexes are usually not signed,
	// and clusters do not run boot images.
	required bool
	policies []*cosign.Policy
}

// releasePolicies are what releases require of signatures.
type releasePolicies struct {
	policies map[string][]*cosign.Policy // by release
	needed   map[string]bool             // releases whose clusters refuse images without signatures
}

// add adds an image that has the manifest.
func (s *signedImage) add(img *plan.Image, index bool, of releasePolicies) {
	for _, b := range img.Reasons {
		s.reasons = append(s.reasons, b)
		s.required = s.required || of.needed[b.Release] && !index && img.Kind != plan.BootImage
		for _, p := range of.policies[b.Release] {
			if p.Covers(s.repository) && !slices.Contains(s.policies, p) {
				s.policies = append(s.policies, p)
			}
		}
	}
	elements.Sort(s.reasons, plan.CompareReasons)
	s.reasons = slices.Compact(s.reasons)
}

// missing returns the error of a signature that is required and does not exist.
func (s *signedImage) missing(err error) error {
	return fmt.Errorf("the signatures of %s are missing, and clusters of OpenShift 4.21 and later do not pull without them: %w", s.digest, err)
}

// verify verifies signatures, whose manifest is raw, by the policies of all releases that contain the
// image. source is where their payloads are read.
func (s *signedImage) verify(ctx context.Context, images image.Reader, raw []byte, source string) error {
	blob := func(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
		r, err := images.Blob(ctx, source, desc, 0)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(r, cosign.MaxPayload+1))
		return text, errors.Join(err, r.Close())
	}
	for _, policy := range s.policies {
		if err := cosign.Verify(ctx, raw, blob, s.repository, s.digest, policy); err != nil {
			return err
		}
	}
	return nil
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

// requiringSignatures returns the names of the releases whose clusters refuse images without signatures.
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
