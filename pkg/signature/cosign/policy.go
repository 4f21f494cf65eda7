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
	// maxPolicy is more than any cluster object has, in bytes.
	maxPolicy = 1 << 20
)

// A Policy says which images need a signature, and by which keys.
type Policy struct {
	Name string
	// Scopes are repositories ("quay.io/org/name"), registries and namespaces ("quay.io",
	// "quay.io/org"), or domains ("*.example.com").
	Scopes []string
	Keys   []crypto.PublicKey // RSA, ECDSA or Ed25519; any of them may sign
}

// clusterImagePolicy is the object as stored in the cluster.
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

// ParsePolicy parses a ClusterImagePolicy with a public key, in YAML or JSON. Policies that require
// certificates or a transparency log, or that match anything but repositories, are errors.
func ParsePolicy(text []byte) (*Policy, error) {
	if len(text) > maxPolicy {
		return nil, fmt.Errorf("reading the policy of signatures: more than %d bytes", maxPolicy)
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
		return nil, fmt.Errorf("%s of %s, want ClusterImagePolicy of %s", o.Kind, o.APIVersion, policyVersion)
	}
	root, identity := o.Spec.Policy.RootOfTrust, o.Spec.Policy.SignedIdentity
	switch {
	case root.Type != "PublicKey":
		return nil, fmt.Errorf("spec.policy.rootOfTrust.policyType is %q; only PublicKey is supported", root.Type)
	case root.PublicKey == nil:
		return nil, errors.New("spec.policy.rootOfTrust.publicKey is missing")
	case len(root.PublicKey.RekorKeyData) > 0:
		return nil, errors.New("spec.policy.rootOfTrust.publicKey.rekorKeyData requires a transparency log, which is not supported")
	case identity != nil && !slices.Contains([]string{"MatchRepoDigestOrExact", "MatchRepository"}, identity.Match):
		return nil, fmt.Errorf("spec.policy.signedIdentity.matchPolicy is %q; only MatchRepoDigestOrExact and MatchRepository are supported", identity.Match)
	case len(o.Spec.Scopes) == 0:
		return nil, errors.New("spec.scopes is empty")
	}
	for _, scope := range o.Spec.Scopes {
		if err := checkScope(scope); err != nil {
			return nil, err
		}
	}
	keys, err := ReadKeys(root.PublicKey.KeyData)
	if err != nil {
		return nil, fmt.Errorf("spec.policy.rootOfTrust.publicKey.keyData: %w", err)
	}
	return &Policy{Name: o.Metadata.Name, Scopes: o.Spec.Scopes, Keys: keys}, nil
}

// checkScope refuses scopes of single images, which Covers does not support.
func checkScope(scope string) error {
	last := scope[strings.LastIndex(scope, "/")+1:]
	if scope == "" || strings.Contains(scope, "@") || last != scope && strings.Contains(last, ":") {
		return fmt.Errorf("the scope %q is not a repository", scope)
	}
	return nil
}

// Covers reports whether the policy applies to a repository, "quay.io/org/name". The repository is
// the original one, not the mirror's.
func (p *Policy) Covers(repository string) bool {
	host, _, _ := strings.Cut(repository, "/")
	host, _, _ = strings.Cut(host, ":") // as in containers/image
	return slices.ContainsFunc(p.Scopes, func(scope string) bool {
		if domain, ok := strings.CutPrefix(scope, "*"); ok {
			return strings.HasSuffix(host, domain)
		}
		return repository == scope || strings.HasPrefix(repository, scope+"/")
	})
}
