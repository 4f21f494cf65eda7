package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/pkg/signature/policy"
)

// ImagePolicies returns the policies with which nodes verify the images that a policy accepted by
// sigstore signatures, for repositories whose signatures the plan has. Notes say which others are left
// out: nodes would refuse their images.
func (a *judgement) ImagePolicies(p *plan.Plan) (all []resources.ImagePolicy, notes []string) {
	repositories := map[string][]*judged{}
	planned := map[string]bool{} // signatures
	for i := range p.Images {
		img := &p.Images[i]
		if IsAttachment(img) {
			planned[img.Source] = true
			continue
		}
		if d := a.images[JudgedName(img.Source, img.Digest)]; d != nil && d.image.Layout == "" {
			name := d.image.Reference.Name()
			repositories[name] = append(repositories[name], d)
		}
	}
	left := map[string][]string{} // repositories by the reason why they are left out
	for _, name := range slices.Sorted(maps.Keys(repositories)) {
		some, err := repositoryPolicies(name, repositories[name], planned)
		if err != nil {
			left[err.Error()] = append(left[err.Error()], name)
		}
		all = append(all, some...)
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		notes = append(notes, fmt.Sprintf("no ClusterImagePolicy covers %s: %s", listSome(left[why]), why))
	}
	return all, notes
}

// maxListedNames is how many names a note lists.
const maxListedNames = 5

// listSome lists the first names and counts the others.
func listSome(names []string) string {
	if more := len(names) - maxListedNames; more > 0 {
		return strings.Join(names[:maxListedNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// repositoryPolicies returns the policies for the images of one repository. There are none if no
// signature is required of them.
func repositoryPolicies(name string, images []*judged, planned map[string]bool) ([]resources.ImagePolicy, error) {
	by := map[*policy.Requirement]map[string]bool{} // the names of those who signed
	for _, d := range images {
		for _, s := range d.signers {
			if s.Type != policy.SigstoreSigned {
				continue
			}
			if by[s.Requirement] == nil {
				by[s.Requirement] = map[string]bool{}
			}
			by[s.Requirement][s.Name] = true
		}
	}
	if len(by) == 0 {
		return nil, nil
	}
	if err := resources.CheckScope(name); err != nil {
		return nil, err
	}
	for _, d := range images {
		for r := range by {
			if !slices.ContainsFunc(d.signers, func(s policy.Signer) bool { return s.Requirement == r }) {
				return nil, fmt.Errorf("the signature policy has other requirements for some of its images")
			}
		}
		if !d.nodes {
			return nil, fmt.Errorf("nodes accept only signatures of each image at the tag of its digest, not those of an index, and no bundles")
		}
		for _, leaf := range d.leaves {
			if !planned[name+":"+cosign.Tag(leaf)] {
				return nil, fmt.Errorf("its signatures are not mirrored")
			}
		}
	}
	var all []resources.ImagePolicy
	for r, signers := range by {
		one, err := newImagePolicy(r, slices.Sorted(maps.Keys(signers)))
		if err == nil {
			err = one.Check()
		}
		if err != nil {
			return nil, err
		}
		one.Scopes = []string{name}
		all = append(all, one)
	}
	return all, nil
}

// newImagePolicy returns the policy for a requirement that some signers satisfied.
func newImagePolicy(r *policy.Requirement, signers []string) (resources.ImagePolicy, error) {
	m := r.Material
	p := resources.ImagePolicy{
		Prefix: r.Identity.Prefix, SignedPrefix: r.Identity.SignedPrefix,
		Issuer: m.Issuer, Email: m.Email, SubjectEmail: m.SubjectEmail, SubjectHostname: m.SubjectHostname,
	}
	switch r.Identity.Type {
	case policy.MatchRepoDigestOrExact:
		p.Match = "MatchRepoDigestOrExact"
	case policy.MatchRepository:
		p.Match = "MatchRepository"
	case policy.ExactRepository:
		p.Match, p.Repository = "ExactRepository", r.Identity.Name
	case policy.RemapIdentity:
		p.Match = "RemapIdentity"
	default:
		return p, fmt.Errorf("clusters have no matchPolicy for signedIdentity %s", r.Identity.Type)
	}
	switch len(m.RekorKeys) {
	case 0:
	case 1:
		p.RekorKey = trimPEM(m.RekorKeys[0])
	default:
		return p, fmt.Errorf("a ClusterImagePolicy has one key of a log, and the signature policy names %d", len(m.RekorKeys))
	}
	switch {
	case m.FulcioCA != nil:
		p.FulcioCA = trimPEM(m.FulcioCA)
		return p, nil
	case m.Roots != nil:
		p.Roots = trimPEM(m.Roots)
		if m.Intermediates != nil {
			p.Intermediates = trimPEM(m.Intermediates)
		}
		return p, nil
	case len(signers) != 1:
		return p, fmt.Errorf("a ClusterImagePolicy has one key, and its images are signed with %d", len(signers))
	}
	for _, text := range m.Keys {
		keys, err := cosign.ReadKeys(text)
		if err == nil && len(keys) == 1 && "key "+cosign.Fingerprint(keys[0]) == signers[0] {
			p.Key = cosign.MarshalKey(keys[0])
		}
	}
	if p.Key == nil {
		return p, fmt.Errorf("%s is not in the signature policy", signers[0])
	}
	return p, nil
}

// trimPEM returns PEM without what is around it, which clusters refuse.
func trimPEM(text []byte) []byte { return []byte(strings.TrimSpace(string(text)) + "\n") }

// WithoutFailed returns the policies without the repositories whose images or signatures were not all
// copied: nodes would refuse what they find there.
func WithoutFailed(all []resources.ImagePolicy, report *mirror.Report) []resources.ImagePolicy {
	var out []resources.ImagePolicy
	for _, p := range all {
		p.Scopes = slices.DeleteFunc(slices.Clone(p.Scopes), func(scope string) bool {
			return slices.ContainsFunc(report.Failed, func(f mirror.Failure) bool { // those without a repository were never planned
				return f.Repository != "" && (strings.HasPrefix(f.Source, scope+":") || strings.HasPrefix(f.Source, scope+"@"))
			})
		})
		if len(p.Scopes) > 0 {
			out = append(out, p)
		}
	}
	return out
}
