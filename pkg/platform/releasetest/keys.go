package releasetest

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"embed"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// keyFiles were made for this package and sign only its releases. They are fixed because payloads
// contain the public keys: other keys would change the digests.
//
//go:embed keys/*.pem
var keyFiles embed.FS

// keyBits is the size of the RSA keys. It is half the size of real keys, for speed.
const keyBits = 2048

// published is the date of keys and signatures.
var published = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// Keys are the two keys that a vendor signs releases with.
type Keys struct {
	// OpenPGP is the public key for signature stores, armored. Policy is the public key for
	// sigstore signatures, in PEM.
	OpenPGP, Policy []byte

	entity *openpgp.Entity
	policy *rsa.PrivateKey
}

// FixedKeys returns the same keys every time. A Definition without keys uses them.
func FixedKeys() (*Keys, error) {
	var keys [2]*rsa.PrivateKey
	for i, name := range []string{"keys/release.pem", "keys/policy.pem"} {
		text, err := keyFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		block, _ := pem.Decode(text)
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		keys[i], _ = key.(*rsa.PrivateKey)
	}
	return newKeys(keys[0], keys[1])
}

// NewKeys makes random keys, for tests with untrusted keys.
func NewKeys() (*Keys, error) {
	release, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, err
	}
	policy, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, err
	}
	return newKeys(release, policy)
}

func newKeys(release, policy *rsa.PrivateKey) (*Keys, error) {
	der, err := x509.MarshalPKIXPublicKey(policy.Public())
	if err != nil {
		return nil, err
	}
	k := &Keys{Policy: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), policy: policy}
	private := packet.NewRSAPrivateKey(published, release)
	k.entity = &openpgp.Entity{PrimaryKey: &private.PublicKey, PrivateKey: private, Identities: map[string]*openpgp.Identity{}}
	if err := k.entity.AddUserId("Test releases", "nobody's", "releases@example.com", signing()); err != nil {
		return nil, fmt.Errorf("making an OpenPGP key: %w", err)
	}
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(k.entity.Serialize(w), w.Close())
	}
	k.OpenPGP = append(b.Bytes(), '\n')
	return k, err
}

// signing returns a configuration for OpenPGP signatures that depend only on key and text.
func signing() *packet.Config {
	salted := false
	return &packet.Config{
		DefaultHash:                           crypto.SHA256,
		Time:                                  func() time.Time { return published },
		NonDeterministicSignaturesViaNotation: &salted,
	}
}
