package cosign

import (
	"cmp"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// maxCertificates limits the chain that comes with a signature.
	maxCertificates = 16
	// maxChain is the largest chain in bytes.
	maxChain = 256 << 10
)

// The extensions of Fulcio that have the issuer of the identity, and the one of alternative names.
// See https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md.
var (
	issuerExtension      = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}
	issuerExtensionV2    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	alternativeNames     = asn1.ObjectIdentifier{2, 5, 29, 17}
	errCertificateAbsent = errors.New("it has no certificate")
)

// Fulcio is an authority that issues certificates for a few minutes, to who proved an identity.
type Fulcio struct {
	// CAs are the certificates of the authority.
	CAs *x509.CertPool
	// Issuer is the address of the identity provider, Email the identity. Both are required.
	Issuer, Email string
}

// PKI is an authority that issues ordinary certificates for signing code.
type PKI struct {
	Roots *x509.CertPool
	// Intermediates may be nil.
	Intermediates *x509.CertPool
	// Email and Hostname are what the certificate must be for. At least one is required.
	Email, Hostname string
}

// name describes who the certificate is for.
func (p *PKI) name() string {
	return cmp.Or(p.Email, p.Hostname)
}

// verify returns the key of a certificate that was valid when the log took the signature.
func (f *Fulcio) verify(certificate, chain []byte, logged time.Time) (crypto.PublicKey, error) {
	leaf, err := verifyChain(certificate, chain, f.CAs, nil, logged)
	if err != nil {
		return nil, err
	}
	issuer, err := issuerOf(leaf)
	switch {
	case err != nil:
		return nil, err
	case issuer != f.Issuer:
		return nil, fmt.Errorf("its certificate is for an identity of %q, not of %q", issuer, f.Issuer)
	case !slices.Contains(leaf.EmailAddresses, f.Email):
		return nil, fmt.Errorf("its certificate is for %q, not for %q", leaf.EmailAddresses, f.Email)
	}
	return leaf.PublicKey, nil
}

// verify returns the key of a certificate.
func (p *PKI) verify(certificate, chain []byte, now time.Time) (crypto.PublicKey, error) {
	leaf, err := verifyChain(certificate, chain, p.Roots, p.Intermediates, now)
	if err != nil {
		return nil, err
	}
	if p.Email != "" && !slices.Contains(leaf.EmailAddresses, p.Email) {
		return nil, fmt.Errorf("its certificate is for %q, not for %q", leaf.EmailAddresses, p.Email)
	}
	if p.Hostname != "" {
		if err := leaf.VerifyHostname(p.Hostname); err != nil {
			return nil, fmt.Errorf("its certificate is not for %q: %w", p.Hostname, err)
		}
	}
	return leaf.PublicKey, nil
}

// verifyChain verifies a certificate for signing code up to one of the roots, at a time. The last
// certificate of the chain that comes with a signature is its root, which proves nothing.
func verifyChain(certificate, chain []byte, roots, intermediates *x509.CertPool, at time.Time) (*x509.Certificate, error) {
	if len(certificate) == 0 {
		return nil, errCertificateAbsent
	}
	leaves, err := ReadCertificates(certificate)
	if err == nil && len(leaves) != 1 {
		err = fmt.Errorf("%d certificates in place of one", len(leaves))
	}
	if err != nil {
		return nil, fmt.Errorf("reading its certificate: %w", err)
	}
	leaf := leaves[0]
	pool := x509.NewCertPool()
	if intermediates != nil {
		pool = intermediates.Clone()
	}
	if len(chain) > 0 {
		more, err := ReadCertificates(chain)
		if err != nil {
			return nil, fmt.Errorf("reading the chain of its certificate: %w", err)
		}
		for _, c := range more[:len(more)-1] {
			pool.AddCert(c)
		}
	}
	// crypto/x509 does not handle alternative names without a known form, which Fulcio issues. The
	// identity is compared above.
	leaf.UnhandledCriticalExtensions = slices.DeleteFunc(leaf.UnhandledCriticalExtensions, alternativeNames.Equal)
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: pool, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}); err != nil {
		return nil, fmt.Errorf("verifying its certificate: %w", err)
	}
	return leaf, checkKey(leaf.PublicKey)
}

// ReadCertificates parses certificates in PEM. It is an error if there is none, or anything else.
func ReadCertificates(text []byte) ([]*x509.Certificate, error) {
	if len(text) > maxChain {
		return nil, fmt.Errorf("more than %d bytes", maxChain)
	}
	var all []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it contains a %s, want a CERTIFICATE", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if all, text = append(all, c), rest; len(all) > maxCertificates {
			return nil, fmt.Errorf("more than %d certificates", maxCertificates)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no certificate in PEM found")
	}
	return all, nil
}

// issuerOf returns the identity provider that Fulcio wrote into a certificate. The first extension has
// the bare text, the second one is a string in DER. If both are present, they must agree.
func issuerOf(c *x509.Certificate) (string, error) {
	var found []string
	for _, x := range c.Extensions {
		switch {
		case x.Id.Equal(issuerExtension):
			found = append(found, string(x.Value))
		case x.Id.Equal(issuerExtensionV2):
			var text string
			if rest, err := asn1.Unmarshal(x.Value, &text); err != nil || len(rest) > 0 {
				return "", errors.New("reading its certificate: the extension with the issuer of the identity is invalid")
			}
			found = append(found, text)
		}
	}
	switch {
	case len(found) == 0:
		return "", errors.New("its certificate names no issuer of the identity; it is not one of Fulcio")
	case len(slices.Compact(found)) > 1:
		return "", fmt.Errorf("its certificate names several issuers of the identity: %q", found)
	}
	return found[0], nil
}

// MarshalKey returns a public key in PEM, as logs and policies of clusters have it.
func MarshalKey(key crypto.PublicKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
