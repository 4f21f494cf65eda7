package cosign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
)

// Bits that an RSA key has at least, and at most: a key from a stranger must not
// take long to check.
const minRSA, maxRSA = 2048, 16384

var (
	oidRSA   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidECDSA = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
)

// readKeys reads public keys as PEM.
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
		return nil, errors.New("it holds no public key as PEM")
	}
	return keys, nil
}

// readKey reads a SubjectPublicKeyInfo (RFC 5280, 4.1). It is what
// x509.ParsePKIXPublicKey does for these two algorithms, without the network that
// crypto/x509 links; a test holds the two together.
func readKey(der []byte) (crypto.PublicKey, error) {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if err := unmarshal(der, &info); err != nil {
		return nil, err
	}
	bits, algorithm := info.Key.RightAlign(), info.Algorithm
	switch {
	case algorithm.Algorithm.Equal(oidRSA):
		if !bytes.Equal(algorithm.Parameters.FullBytes, asn1.NullBytes) {
			return nil, errors.New("the RSA key has parameters, which it should not have")
		}
		return readRSA(bits)
	case algorithm.Algorithm.Equal(oidECDSA):
		var name asn1.ObjectIdentifier
		if err := unmarshal(algorithm.Parameters.FullBytes, &name); err != nil {
			return nil, err
		}
		curve := curves()[name.String()]
		if curve == nil {
			return nil, fmt.Errorf("an ECDSA key on the curve %s cannot be verified with; want P-256, P-384 or P-521", name)
		}
		return ecdsa.ParseUncompressedPublicKey(curve, bits)
	}
	return nil, fmt.Errorf("a key of algorithm %s cannot be verified with; want RSA or ECDSA", algorithm.Algorithm)
}

func readRSA(der []byte) (*rsa.PublicKey, error) {
	var key struct {
		N *big.Int
		E int
	}
	if err := unmarshal(der, &key); err != nil {
		return nil, err
	}
	if n := key.N.BitLen(); key.N.Sign() <= 0 || n < minRSA || n > maxRSA {
		return nil, fmt.Errorf("an RSA key of %d bits cannot be verified with; want %d to %d", n, minRSA, maxRSA)
	}
	if key.E < 2 {
		return nil, fmt.Errorf("the RSA key has the exponent %d", key.E)
	}
	return &rsa.PublicKey{N: key.N, E: key.E}, nil
}

// curves are those of ECDSA keys, by name (RFC 5480, 2.1.1.1).
func curves() map[string]elliptic.Curve {
	return map[string]elliptic.Curve{"1.2.840.10045.3.1.7": elliptic.P256(), "1.3.132.0.34": elliptic.P384(), "1.3.132.0.35": elliptic.P521()}
}

// unmarshal reads DER that holds one value and nothing else.
func unmarshal(der []byte, into any) error {
	rest, err := asn1.Unmarshal(der, into)
	if err == nil && len(rest) > 0 {
		err = errors.New("something follows the key")
	}
	return err
}
