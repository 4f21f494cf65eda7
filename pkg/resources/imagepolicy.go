package resources

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// The values of Options.ImagePolicies.
const (
	// ImagePolicyV1 is the version of OpenShift 4.20 and later, and the default.
	ImagePolicyV1 = "v1"
	// ImagePolicyV1alpha1 is the version of the technology preview in OpenShift 4.16 to 4.19.
	ImagePolicyV1alpha1 = "v1alpha1"
	// NoImagePolicies writes none.
	NoImagePolicies = "none"
)

// ImagePolicyVersions returns the values of Options.ImagePolicies.
func ImagePolicyVersions() []string {
	return []string{ImagePolicyV1, ImagePolicyV1alpha1, NoImagePolicies}
}

// An ImagePolicy says how nodes verify the sigstore signatures of images. Keys and certificates are in
// PEM. Exactly one of Key, FulcioCA and Roots is set.
type ImagePolicy struct {
	// Scopes are repositories by their original names, sorted. Nodes compare the name that a pod has,
	// also if the image is pulled from a mirror.
	Scopes []string `json:"scopes"`
	Key    []byte   `json:"key,omitempty"`
	// RekorKey is the key of a transparency log; FulcioCA needs one.
	RekorKey []byte `json:"rekorKey,omitempty"`
	FulcioCA []byte `json:"fulcioCA,omitempty"`
	// Issuer and Email are the identity in certificates of FulcioCA.
	Issuer string `json:"issuer,omitempty"`
	Email  string `json:"email,omitempty"`
	// Roots and Intermediates are certificates of another authority, and SubjectEmail and
	// SubjectHostname what its certificates are for.
	Roots           []byte `json:"roots,omitempty"`
	Intermediates   []byte `json:"intermediates,omitempty"`
	SubjectEmail    string `json:"subjectEmail,omitempty"`
	SubjectHostname string `json:"subjectHostname,omitempty"`
	// Match is the matchPolicy. Repository is set for ExactRepository, Prefix and SignedPrefix for
	// RemapIdentity.
	Match        string `json:"match"`
	Repository   string `json:"repository,omitempty"`
	Prefix       string `json:"prefix,omitempty"`
	SignedPrefix string `json:"signedPrefix,omitempty"`
}

// The limits of the CRD.
const (
	maxScopes    = 256
	maxScope     = 512 // bytes
	maxTrustData = 8192
)

// scopeHost is what the CRD accepts as the registry of a scope: a domain with a dot, or localhost.
var scopeHost = sync.OnceValue(func() *regexp.Regexp {
	const label = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
	return regexp.MustCompile(`^(?:localhost|` + label + `(?:\.` + label + `)+)(?::[0-9]+)?$`)
})

// CheckScope returns an error if a repository cannot be a scope of a policy.
func CheckScope(scope string) error {
	host, _, _ := strings.Cut(scope, "/")
	switch {
	case len(scope) > maxScope:
		return fmt.Errorf("it has more than %d characters", maxScope)
	case !scopeHost().MatchString(host):
		return fmt.Errorf("clusters accept only registries with a full domain name, and not %q", host)
	}
	return nil
}

// Check returns an error if the keys are larger than clusters accept.
func (p *ImagePolicy) Check() error {
	for _, data := range [][]byte{p.Key, p.RekorKey, p.FulcioCA, p.Roots, p.Intermediates} {
		if n := base64.StdEncoding.EncodedLen(len(data)); n > maxTrustData {
			return fmt.Errorf("its keys and certificates have %d characters, and clusters accept %d", n, maxTrustData)
		}
	}
	return nil
}

// id identifies what a policy demands, without the scopes.
func (p ImagePolicy) id() string {
	p.Scopes = nil
	text, err := json.Marshal(p)
	if err != nil {
		return "" // no field can fail
	}
	return reference.ShortHash(string(text))
}

// BuildImagePolicies returns the ClusterImagePolicies for policies, or the ImagePolicies if
// Options.ImagePolicyNamespace is set, sorted by name. Policies that demand the same are one object,
// unless it has more scopes than clusters accept. Names depend on what is demanded, so that they stay
// when scopes change.
func BuildImagePolicies(all []ImagePolicy, opts Options) ([]File, error) {
	if opts.ImagePolicies == NoImagePolicies {
		return nil, nil
	}
	byID := map[string]ImagePolicy{}
	for _, p := range all {
		id := p.id()
		have, ok := byID[id]
		if !ok {
			have, have.Scopes = p, nil
		}
		have.Scopes = append(have.Scopes, p.Scopes...)
		byID[id] = have
	}
	var files []File
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		p := byID[id]
		slices.Sort(p.Scopes)
		p.Scopes = slices.Compact(p.Scopes)
		n := 0
		for some := range slices.Chunk(p.Scopes, maxScopes) {
			p.Scopes = some
			file, err := p.file(fmt.Sprintf("%s-%d", strings.Join(slices.DeleteFunc([]string{"image-policy", opts.Suffix, id}, func(s string) bool { return s == "" }), "-"), n), opts)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
			n++
		}
	}
	elements.Sort(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// imagePolicyManifest is a ClusterImagePolicy or ImagePolicy (config.openshift.io) with its fields in the
// usual order.
type imagePolicyManifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace,omitempty"`
	} `yaml:"metadata"`
	Spec struct {
		Scopes []string `yaml:"scopes"`
		Policy struct {
			Root     policyRoot     `yaml:"rootOfTrust"`
			Identity policyIdentity `yaml:"signedIdentity"`
		} `yaml:"policy"`
	} `yaml:"spec"`
}

type policyRoot struct {
	Type      string     `yaml:"policyType"`
	PublicKey *policyKey `yaml:"publicKey,omitempty"`
	Fulcio    *fulcioCA  `yaml:"fulcioCAWithRekor,omitempty"`
	PKI       *policyPKI `yaml:"pki,omitempty"`
}

type policyKey struct {
	Key   string `yaml:"keyData"`
	Rekor string `yaml:"rekorKeyData,omitempty"`
}

type fulcioCA struct {
	CA      string `yaml:"fulcioCAData"`
	Rekor   string `yaml:"rekorKeyData"`
	Subject struct {
		Issuer string `yaml:"oidcIssuer"`
		Email  string `yaml:"signedEmail"`
	} `yaml:"fulcioSubject"`
}

type policyPKI struct {
	Roots         string `yaml:"caRootsData"`
	Intermediates string `yaml:"caIntermediatesData,omitempty"`
	Subject       struct {
		Email    string `yaml:"email,omitempty"`
		Hostname string `yaml:"hostname,omitempty"`
	} `yaml:"pkiCertificateSubject"`
}

type policyIdentity struct {
	Match string           `yaml:"matchPolicy"`
	Exact *exactRepository `yaml:"exactRepository,omitempty"`
	Remap *remapIdentity   `yaml:"remapIdentity,omitempty"`
}

type exactRepository struct {
	Repository string `yaml:"repository"`
}

type remapIdentity struct {
	Prefix       string `yaml:"prefix"`
	SignedPrefix string `yaml:"signedPrefix"`
}

// file writes one object.
func (p *ImagePolicy) file(name string, opts Options) (File, error) {
	m := imagePolicyManifest{APIVersion: "config.openshift.io/" + cmp.Or(opts.ImagePolicies, ImagePolicyV1), Kind: "ClusterImagePolicy"}
	m.Metadata.Name = name
	if opts.ImagePolicyNamespace != "" {
		m.Kind, m.Metadata.Namespace = "ImagePolicy", opts.ImagePolicyNamespace
	}
	m.Spec.Scopes = p.Scopes
	data := base64.StdEncoding.EncodeToString
	switch root := &m.Spec.Policy.Root; {
	case p.FulcioCA != nil:
		root.Type, root.Fulcio = "FulcioCAWithRekor", &fulcioCA{CA: data(p.FulcioCA), Rekor: data(p.RekorKey)}
		root.Fulcio.Subject.Issuer, root.Fulcio.Subject.Email = p.Issuer, p.Email
	case p.Roots != nil:
		root.Type, root.PKI = "PKI", &policyPKI{Roots: data(p.Roots), Intermediates: data(p.Intermediates)}
		root.PKI.Subject.Email, root.PKI.Subject.Hostname = p.SubjectEmail, p.SubjectHostname
	default:
		root.Type, root.PublicKey = "PublicKey", &policyKey{Key: data(p.Key), Rekor: data(p.RekorKey)}
	}
	m.Spec.Policy.Identity = policyIdentity{Match: p.Match}
	if p.Repository != "" {
		m.Spec.Policy.Identity.Exact = &exactRepository{p.Repository}
	}
	if p.Prefix != "" {
		m.Spec.Policy.Identity.Remap = &remapIdentity{p.Prefix, p.SignedPrefix}
	}
	text, err := encode(m)
	if err != nil {
		return File{}, fmt.Errorf("writing %s: %w", name, err)
	}
	return File{Name: name + ".yaml", Text: text}, nil
}
