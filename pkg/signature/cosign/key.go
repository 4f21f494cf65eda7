package cosign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

// The allowed size of RSA keys in bits. The upper limit bounds the time that an untrusted key takes.
const minRSA, maxRSA = 2048, 16384

// ReadKeys parses public keys in PEM: ECDSA, Ed25519 or RSA. It is an error if there is none.
func ReadKeys(text []byte) ([]crypto.PublicKey, error) {
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
	return key, checkKey(key)
}

// checkKey returns an error for a key that signatures cannot be verified with, or that is weak.
func checkKey(key crypto.PublicKey) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < minRSA || n > maxRSA {
			return fmt.Errorf("an RSA key of %d bits is not supported; use %d to %d bits", n, minRSA, maxRSA)
		}
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P224() {
			return errors.New("an ECDSA key on the curve P-224 is not supported; use P-256, P-384 or P-521")
		}
	case ed25519.PublicKey:
	default:
		return fmt.Errorf("a public key of type %T is not supported; use RSA, ECDSA or Ed25519", key)
	}
	return nil
}

// made reports whether key made a signature of content. As in cosign and containers/image, RSA
// signatures are those of PKCS #1 v1.5, and the hash is SHA-256 whatever the curve.
func made(key crypto.PublicKey, content, signature []byte) bool {
	hash := sha256.Sum256(content)
	switch k := key.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, hash[:], signature) == nil
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(k, hash[:], signature)
	case ed25519.PublicKey:
		return len(k) == ed25519.PublicKeySize && ed25519.Verify(k, content, signature)
	}
	return false
}

// Fingerprint returns the SHA-256 of a public key as SubjectPublicKeyInfo, in hexadecimal. It is what
// "openssl pkey -pubin -in FILE -outform DER | sha256sum" prints.
func Fingerprint(key crypto.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "unknown"
	}
	hash := sha256.Sum256(der)
	return hex.EncodeToString(hash[:])
}
