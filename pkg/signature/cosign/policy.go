package cosign

import (
	"crypto"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	policyVersion = "config.openshift.io/v1"
	// maxPolicy is more than any object of a cluster has, in bytes.
	maxPolicy = 1 << 20
)

// A Policy says for which images a signature is asked for, and whose.
type Policy struct {
	Name string
	// Scopes are repositories ("quay.io/org/name"), registries and folders of
	// repositories ("quay.io", "quay.io/org"), or domains ("*.example.com").
	Scopes []string
	Keys   []crypto.PublicKey // RSA or ECDSA; any of them may sign
}

// clusterImagePolicy is the object as the cluster has it.
type clusterImagePolicy struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Scopes []string `json:"scopes"`
		Policy struct {
			RootOfTrust struct {
				Type      string `json:"policyType"`
				PublicKey *struct {
					KeyData      []byte `json:"keyData"`
					RekorKeyData []byte `json:"rekorKeyData"`
				} `json:"publicKey"`
			} `json:"rootOfTrust"`
			SignedIdentity *struct {
				Match string `json:"matchPolicy"`
			} `json:"signedIdentity"`
		} `json:"policy"`
	} `json:"spec"`
}

// ParsePolicy reads a ClusterImagePolicy, YAML or JSON, with a public key. Policies
// that ask for certificates or a transparency log, or that compare other names than
// those of repositories, are errors.
func ParsePolicy(text []byte) (*Policy, error) {
	if len(text) > maxPolicy {
		return nil, fmt.Errorf("reading the policy of signatures: it has more than %d bytes", maxPolicy)
	}
	var object clusterImagePolicy
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("reading the policy of signatures: %w", err)
	}
	p, err := object.policy()
	if err != nil {
		return nil, fmt.Errorf("reading the policy of signatures %s: %w", object.Metadata.Name, err)
	}
	return p, nil
}

func (o *clusterImagePolicy) policy() (*Policy, error) {
	if o.Kind != "ClusterImagePolicy" || o.APIVersion != policyVersion {
		return nil, fmt.Errorf("it is a %s of %s; want a ClusterImagePolicy of %s", o.Kind, o.APIVersion, policyVersion)
	}
	root, identity := o.Spec.Policy.RootOfTrust, o.Spec.Policy.SignedIdentity
	switch {
	case root.Type != "PublicKey":
		return nil, fmt.Errorf("spec.policy.rootOfTrust.policyType is %q; only PublicKey can be verified", root.Type)
	case root.PublicKey == nil:
		return nil, errors.New("spec.policy.rootOfTrust.publicKey is missing")
	case len(root.PublicKey.RekorKeyData) > 0:
		return nil, errors.New("spec.policy.rootOfTrust.publicKey.rekorKeyData asks for entries in a transparency log, which cannot be verified")
	case identity != nil && !slices.Contains([]string{"MatchRepoDigestOrExact", "MatchRepository"}, identity.Match):
		return nil, fmt.Errorf("spec.policy.signedIdentity.matchPolicy is %q; only MatchRepoDigestOrExact and MatchRepository can be verified", identity.Match)
	case len(o.Spec.Scopes) == 0:
		return nil, errors.New("spec.scopes is empty")
	}
	for _, scope := range o.Spec.Scopes {
		if err := checkScope(scope); err != nil {
			return nil, err
		}
	}
	keys, err := readKeys(root.PublicKey.KeyData)
	if err != nil {
		return nil, fmt.Errorf("spec.policy.rootOfTrust.publicKey.keyData: %w", err)
	}
	return &Policy{Name: o.Metadata.Name, Scopes: o.Spec.Scopes, Keys: keys}, nil
}

// checkScope refuses scopes of single images, which Covers cannot answer for.
func checkScope(scope string) error {
	last := scope[strings.LastIndex(scope, "/")+1:]
	if scope == "" || strings.Contains(scope, "@") || last != scope && strings.Contains(last, ":") {
		return fmt.Errorf("the scope %q is not that of a repository", scope)
	}
	return nil
}

// Covers reports whether the policy is about a repository, "quay.io/org/name". The
// repository is the one that the images are known by, not the mirror's.
func (p *Policy) Covers(repository string) bool {
	host, _, _ := strings.Cut(repository, "/")
	host, _, _ = strings.Cut(host, ":") // as containers/image does for domains
	return slices.ContainsFunc(p.Scopes, func(scope string) bool {
		if domain, ok := strings.CutPrefix(scope, "*"); ok {
			return strings.HasSuffix(host, domain)
		}
		return repository == scope || strings.HasPrefix(repository, scope+"/")
	})
}
