package cosign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// The allowed size of RSA keys in bits. The upper limit bounds the time that an untrusted key takes.
const minRSA, maxRSA = 2048, 16384

// readKeys parses public keys in PEM.
func readKeys(text []byte) ([]crypto.PublicKey, error) {
	var keys []crypto.PublicKey
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		key, err := readKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		keys, text = append(keys, key), rest
	}
	if len(keys) == 0 {
		return nil, errors.New("no public key in PEM found")
	}
	return keys, nil
}

// readKey parses a SubjectPublicKeyInfo (RFC 5280, 4.1) of a key that signatures can be verified
// with.
func readKey(der []byte) (crypto.PublicKey, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minRSA || n > maxRSA {
			return nil, fmt.Errorf("an RSA key of %d bits is not supported; use %d to %d bits", n, minRSA, maxRSA)
		}
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P224() {
			return nil, errors.New("an ECDSA key on the curve P-224 is not supported; use P-256, P-384 or P-521")
		}
	default:
		return nil, fmt.Errorf("a public key of type %T is not supported; use RSA or ECDSA", key)
	}
	return key, nil
}
