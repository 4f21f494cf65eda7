package cosign

import (
	"crypto"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/signature/simplesigning"
)

// A Root says who may sign. Exactly one of Keys, Fulcio and PKI is set.
type Root struct {
	// Keys are public keys: RSA, ECDSA or Ed25519. Any of them may sign.
	Keys []crypto.PublicKey
	// Fulcio accepts keys with a certificate that Fulcio issued to one identity. It requires Rekor.
	Fulcio *Fulcio
	// PKI accepts keys with a certificate of another authority.
	PKI *PKI
	// Rekor has the keys of transparency logs. If it is not empty, a signature needs the promise of one
	// of them that it was logged.
	Rekor []*ecdsa.PublicKey
}

// A Statement is what a valid signature says, and who made it.
type Statement struct {
	// Reference is the name of the image that was signed. It is "" for a bundle that names only the
	// digest.
	Reference string
	Digest    digest.Digest
	// Signer is "key " and the fingerprint of a key, or the identity in a certificate and its issuer.
	Signer string
}

// Verify verifies a signature over its payload and returns what it says. The caller compares that with
// the image. now is the time for certificates that no log dates.
func (r *Root) Verify(s Signature, payload []byte, now time.Time) (Statement, error) {
	if int64(len(payload)) != s.Payload.Size || s.Payload.Digest.Algorithm().FromBytes(payload) != s.Payload.Digest {
		return Statement{}, fmt.Errorf("its payload does not match %s", s.Payload.Digest)
	}
	var logged *logEntry
	if len(r.Rekor) > 0 {
		if s.Log == "" {
			return Statement{}, errors.New("it was not logged: the annotation " + LogAnnotation + " is missing")
		}
		var err error
		if logged, err = readPromise([]byte(s.Log), r.Rekor); err != nil {
			return Statement{}, err
		}
	}
	signer, err := r.signer(signed{content: payload, signature: s.Bytes, certificate: []byte(s.Certificate), chain: []byte(s.Chain)}, logged, now)
	if err != nil {
		return Statement{}, err
	}
	name, d, err := simplesigning.Read(payload, simplesigning.Cosign)
	if err != nil {
		return Statement{}, err
	}
	return Statement{Reference: name, Digest: d, Signer: signer}, nil
}

// A signed is a content with its signature.
type signed struct {
	content   []byte
	signature []byte
	// envelope is the payload of an envelope whose encoding is content, or nil.
	envelope []byte
	// certificate and chain are in PEM, or empty.
	certificate, chain []byte
}

// signer returns who signed. logged is the entry of the transparency log, or nil if the root requires
// none.
func (r *Root) signer(s signed, logged *logEntry, now time.Time) (string, error) {
	switch {
	case r.Fulcio != nil:
		if logged == nil {
			return "", errors.New("a certificate of Fulcio is valid only for a signature that was logged")
		}
		if err := logged.covers(s, s.certificate); err != nil {
			return "", err
		}
		key, err := r.Fulcio.verify(s.certificate, s.chain, logged.time)
		if err != nil {
			return "", err
		}
		if !made(key, s.content, s.signature) {
			return "", errors.New("the key of its certificate did not make it")
		}
		return r.Fulcio.Email + " (" + r.Fulcio.Issuer + ")", nil
	case r.PKI != nil:
		key, err := r.PKI.verify(s.certificate, s.chain, now)
		if err != nil {
			return "", err
		}
		if !made(key, s.content, s.signature) {
			return "", errors.New("the key of its certificate did not make it")
		}
		return r.PKI.name(), nil
	}
	for _, key := range r.Keys {
		if !made(key, s.content, s.signature) {
			continue
		}
		if len(r.Rekor) > 0 {
			if err := logged.covers(s, MarshalKey(key)); err != nil {
				return "", err
			}
		}
		return "key " + Fingerprint(key), nil
	}
	return "", errors.New("no key of the policy matches")
}
