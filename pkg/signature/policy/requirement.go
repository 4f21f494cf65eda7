package policy

import (
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// The types of requirements.
const (
	AcceptAnything = "insecureAcceptAnything"
	Reject         = "reject"
	SignedBy       = "signedBy"
	SigstoreSigned = "sigstoreSigned"
)

// A Requirement is one requirement of a scope.
type Requirement struct {
	Type     string
	Identity Identity
	// Material has the keys and certificates of SigstoreSigned as they were read, in PEM.
	Material Material

	root     *cosign.Root
	keyrings []gpg.Keyring
	// unusable is why the keys cannot be used.
	unusable error
}

// Material is what a sigstoreSigned requirement trusts, in PEM.
type Material struct {
	Keys, RekorKeys [][]byte
	// FulcioCA, Issuer and Email are set for fulcio.
	FulcioCA      []byte
	Issuer, Email string
	// Roots, Intermediates, SubjectEmail and SubjectHostname are set for pki.
	Roots, Intermediates          []byte
	SubjectEmail, SubjectHostname string
}

// A parser parses requirements, and adds all keys that it reads to a hash.
type parser struct {
	read ReadFile
	sum  io.Writer
}

// requirements parses the requirements of a scope.
func (p *parser) requirements(texts []jsontext.Value) ([]*Requirement, error) {
	if len(texts) == 0 {
		return nil, errors.New("no requirement is given; insecureAcceptAnything accepts every image, reject none")
	}
	var all []*Requirement
	for i, text := range texts {
		r, err := p.requirement(text)
		if err != nil {
			return nil, &badValueError{text, fmt.Errorf("requirement %d: %w", i+1, err)}
		}
		all = append(all, r)
	}
	return all, nil
}

func (p *parser) requirement(text jsontext.Value) (*Requirement, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := jsonv2.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	known := jsonv2.RejectUnknownMembers(true)
	switch head.Type {
	case AcceptAnything, Reject:
		return &Requirement{Type: head.Type}, jsonv2.Unmarshal(text, &head, known)
	case SignedBy:
		return p.signedBy(text)
	case SigstoreSigned:
		return p.sigstoreSigned(text)
	case "":
		return nil, errors.New("type is missing")
	case "signedBaseLayer":
		return nil, errors.New("signedBaseLayer is not supported, here or in podman, skopeo and CRI-O")
	}
	return nil, fmt.Errorf("the type %q is unknown; use %s, %s, %s or %s", head.Type, AcceptAnything, Reject, SignedBy, SigstoreSigned)
}

func (p *parser) signedBy(text jsontext.Value) (*Requirement, error) {
	var raw struct {
		Type     string         `json:"type"`
		KeyType  string         `json:"keyType"`
		Path     *string        `json:"keyPath"`
		Paths    []string       `json:"keyPaths"`
		Data     []byte         `json:"keyData"`
		Identity jsontext.Value `json:"signedIdentity"`
	}
	if err := jsonv2.Unmarshal(text, &raw, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if raw.KeyType != "GPGKeys" {
		return nil, fmt.Errorf("keyType %q is not supported; use GPGKeys", raw.KeyType)
	}
	keys, err := newSource("key", raw.Path, raw.Paths, raw.Data, nil)
	if err != nil {
		return nil, err
	}
	if len(keys.all) == 0 {
		return nil, errors.New("one of keyPath, keyPaths and keyData is needed")
	}
	r := &Requirement{Type: SignedBy}
	if r.Identity, err = parseIdentity(raw.Identity); err != nil {
		return nil, err
	}
	r.keyrings, r.unusable = p.keyrings(keys)
	return r, nil
}

// keyrings reads OpenPGP keys.
func (p *parser) keyrings(from source) ([]gpg.Keyring, error) {
	texts, err := p.load(from)
	if err != nil {
		return nil, err
	}
	var all []gpg.Keyring
	for i, text := range texts {
		k, err := gpg.ParseKeyring(from.name(i), text)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

func (p *parser) sigstoreSigned(text jsontext.Value) (*Requirement, error) {
	var raw rawSigstore
	if err := jsonv2.Unmarshal(text, &raw, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	keys, err := newSource("key", raw.Path, raw.Paths, raw.Data, raw.Datas)
	if err != nil {
		return nil, err
	}
	rekor, err := newSource("rekorPublicKey", raw.RekorPath, raw.RekorPaths, raw.RekorData, raw.RekorDatas)
	if err != nil {
		return nil, err
	}
	given := 0
	for _, is := range []bool{len(keys.all) > 0, raw.Fulcio != nil, raw.PKI != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, errors.New("exactly one of keyPath, keyPaths, keyData, keyDatas, fulcio and pki is needed")
	case raw.Fulcio != nil && len(rekor.all) == 0:
		return nil, errors.New("fulcio needs rekorPublicKeyPath, or another key of the log: its certificates are valid for minutes, and the log says when a signature was made")
	case raw.PKI != nil && len(rekor.all) > 0:
		return nil, errors.New("pki cannot be combined with keys of a log")
	}
	r := &Requirement{Type: SigstoreSigned, root: &cosign.Root{}}
	if r.Identity, err = parseIdentity(raw.Identity); err != nil {
		return nil, err
	}
	var problems []error
	unusable := func(err error) { problems = append(problems, err) }
	r.Material.Keys, err = p.load(keys)
	unusable(err)
	for i, text := range r.Material.Keys {
		some, err := cosign.ReadKeys(text)
		if err == nil && len(some) != 1 {
			err = fmt.Errorf("%d keys; list each in keyPaths or keyDatas", len(some))
		}
		unusable(keys.named(i, err))
		r.root.Keys = append(r.root.Keys, some...)
	}
	r.Material.RekorKeys, err = p.load(rekor)
	unusable(err)
	for i, text := range r.Material.RekorKeys {
		key, err := readRekor(text)
		unusable(rekor.named(i, err))
		r.root.Rekor = append(r.root.Rekor, key)
	}
	if raw.Fulcio != nil {
		trouble, err := p.fulcio(raw.Fulcio, r)
		if err != nil {
			return nil, err
		}
		unusable(trouble)
	}
	if raw.PKI != nil {
		trouble, err := p.pki(raw.PKI, r)
		if err != nil {
			return nil, err
		}
		unusable(trouble)
	}
	r.unusable = errors.Join(problems...)
	return r, nil
}

// readRekor reads the key of a transparency log.
func readRekor(text []byte) (*ecdsa.PublicKey, error) {
	keys, err := cosign.ReadKeys(text)
	if err != nil {
		return nil, err
	}
	key, ok := keys[0].(*ecdsa.PublicKey)
	if !ok || len(keys) != 1 {
		return nil, errors.New("the key of a log must be one ECDSA key")
	}
	return key, nil
}

// fulcio sets the root of a requirement. trouble is why it cannot be used.
func (p *parser) fulcio(raw *rawFulcio, r *Requirement) (trouble, err error) {
	ca, err := newSource("ca", raw.Path, nil, raw.Data, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("fulcio: %w", err)
	case len(ca.all) == 0:
		return nil, errors.New("fulcio: one of caPath and caData is needed")
	case raw.Issuer == "" || raw.Email == "":
		return nil, errors.New("fulcio: oidcIssuer and subjectEmail are needed")
	}
	r.Material.Issuer, r.Material.Email = raw.Issuer, raw.Email
	texts, pool, trouble := p.pool(ca)
	r.Material.FulcioCA = texts
	r.root.Fulcio = &cosign.Fulcio{CAs: pool, Issuer: raw.Issuer, Email: raw.Email}
	return trouble, nil
}

// pki sets the root of a requirement. trouble is why it cannot be used.
func (p *parser) pki(raw *rawPKI, r *Requirement) (trouble, err error) {
	roots, err := newSource("caRoots", raw.RootsPath, nil, raw.RootsData, nil)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	middle, err := newSource("caIntermediates", raw.IntermediatesPath, nil, raw.IntermediatesData, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("pki: %w", err)
	case len(roots.all) == 0:
		return nil, errors.New("pki: one of caRootsPath and caRootsData is needed")
	case raw.Email == "" && raw.Hostname == "":
		return nil, errors.New("pki: one of subjectEmail and subjectHostname is needed")
	}
	r.Material.SubjectEmail, r.Material.SubjectHostname = raw.Email, raw.Hostname
	out := &cosign.PKI{Email: raw.Email, Hostname: raw.Hostname}
	r.root.PKI = out
	r.Material.Roots, out.Roots, trouble = p.pool(roots)
	if trouble == nil && len(middle.all) > 0 {
		r.Material.Intermediates, out.Intermediates, trouble = p.pool(middle)
	}
	return trouble, nil
}

// pool reads certificates from one source.
func (p *parser) pool(from source) ([]byte, *x509.CertPool, error) {
	texts, err := p.load(from)
	if err != nil {
		return nil, nil, err
	}
	certificates, err := cosign.ReadCertificates(texts[0])
	if err != nil {
		return nil, nil, from.named(0, err)
	}
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return texts[0], pool, nil
}

// usable returns an error if the keys of the requirement cannot be used.
func (r *Requirement) usable(p *Policy, scope string) error {
	if r.unusable == nil {
		return nil
	}
	return advice.Wrap(advice.Input, fmt.Errorf("%s: %s: %s: %w", p.Name, scope, r.Type, r.unusable), "")
}
