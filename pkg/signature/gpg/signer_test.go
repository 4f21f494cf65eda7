package gpg

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/opencontainers/go-digest"
	frozen "golang.org/x/crypto/openpgp" //nolint:staticcheck // what clusters verify with

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/simplesigning"
)

// now is the time of verification, signed the time of the signatures.
var (
	signed = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now    = signed.Add(24 * time.Hour)
)

const image = digest.Digest("sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")

func text(d digest.Digest) string {
	return `{"critical":{"image":{"docker-manifest-digest":"` + d.String() + `"},"type":"atomic container signature",` +
		`"identity":{"docker-reference":"quay.io/org/release:4.99.0-x86_64"}},"optional":{"creator":"test","timestamp":1772366400}}`
}

// A signer is a key pair for a test.
type signer struct {
	entity  *openpgp.Entity
	keyring Keyring
}

// signers returns two RSA key pairs made for these tests. The OpenPGP library of clusters supports
// them, and every fuzzing process uses the same.
var signers = sync.OnceValue(func() [2]signer {
	return [2]signer{readSigner("first"), readSigner("second")}
})

// readSigner reads a key pair from testdata. It panics if that fails.
func readSigner(name string) signer {
	text, err := os.ReadFile(filepath.Join("testdata", name+".asc"))
	if err != nil {
		return signer{}
	}
	keys, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
	if err != nil {
		return signer{}
	}
	return withKeyring(name, keys[0])
}

// newSigner makes a key pair a year before the signatures. It expires after lifetime, or never if
// that is 0. It panics if that fails.
func newSigner(name string, lifetime time.Duration) signer {
	config := &packet.Config{
		RSABits: 2048, Algorithm: packet.PubKeyAlgoRSA,
		KeyLifetimeSecs: uint32(lifetime / time.Second),
		Time:            func() time.Time { return signed.AddDate(-1, 0, 0) },
	}
	e, err := openpgp.NewEntity(name, "", name+"@example.com", config)
	if err != nil {
		return signer{}
	}
	return withKeyring(name, e)
}

// revoke returns the signer with its key revoked and superseded.
func (s signer) revoke(t testing.TB, at time.Time) signer {
	t.Helper()
	fail.On(t, s.entity.RevokeKey(packet.KeySuperseded, "", &packet.Config{Time: func() time.Time { return at }}))
	return withKeyring(s.keyring.Name, s.entity)
}

func withKeyring(name string, e *openpgp.Entity) signer {
	keyring, err := ParseKeyring(name, public(e))
	if err != nil {
		return signer{}
	}
	return signer{e, keyring}
}

// public returns an entity's public key in binary.
func public(e *openpgp.Entity) []byte {
	var b bytes.Buffer
	if err := e.Serialize(&b); err != nil {
		return nil // which no keyring may be
	}
	return b.Bytes()
}

func armored(t testing.TB, blockType string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, blockType, nil)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	fail.On(t, err)
	return b.Bytes()
}

// sign makes a message that is valid for lifetime; 0 means forever.
func (s signer) sign(t testing.TB, content string, at time.Time, lifetime time.Duration) []byte {
	t.Helper()
	var b bytes.Buffer
	config := &packet.Config{Time: func() time.Time { return at }, SigLifetimeSecs: uint32(lifetime / time.Second)}
	w, err := openpgp.Sign(&b, s.entity, nil, config)
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = w.Close()
	}
	fail.On(t, err)
	return b.Bytes()
}

// compressed wraps packets as gpg does.
func compressed(t testing.TB, packets []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := packet.SerializeCompressed(nopCloser{&b}, packet.CompressionZIP, nil)
	if err == nil {
		_, err = w.Write(packets)
	}
	if err == nil {
		err = w.Close()
	}
	fail.On(t, err)
	return b.Bytes()
}

// version3 makes a message with an old signature (RFC 4880, section 5.2.2).
func (s signer) version3(t testing.TB, content string) []byte {
	t.Helper()
	onePass, literal, _ := split(t, s.sign(t, content, signed, 0))
	trailer := binary.BigEndian.AppendUint32([]byte{0}, uint32(signed.Unix()))
	hash := sha256.Sum256(slices.Concat([]byte(content), trailer))
	private, ok := s.entity.PrivateKey.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		t.Fatalf("the key is a %T", s.entity.PrivateKey.PrivateKey)
	}
	raw, err := rsa.SignPKCS1v15(nil, private, crypto.SHA256, hash[:])
	fail.On(t, err)
	raw = new(big.Int).SetBytes(raw).Bytes() // an MPI has no zeros in front
	body := binary.BigEndian.AppendUint64(slices.Concat([]byte{3, 5}, trailer), s.entity.PrimaryKey.KeyId)
	body = append(body, 1, 8, hash[0], hash[1]) // RSA, SHA-256
	body = binary.BigEndian.AppendUint16(body, uint16(len(raw)*8-bits.LeadingZeros8(raw[0])))
	body = append(body, raw...)
	header := binary.BigEndian.AppendUint16([]byte{0x89}, uint16(len(body)))
	return slices.Concat(onePass, literal, header, body)
}

// verifyOne verifies a body as the only signature of an image.
func verifyOne(body []byte, d digest.Digest, keyrings []Keyring, now time.Time) error {
	return VerifyAll([][]byte{body}, d, keyrings, now)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// clusterAccepts does what the cluster version operator does with one signature and one keyring
// (openshift/library-go, pkg/verify), with the same library. It returns the signed text.
func clusterAccepts(body, keys []byte, d digest.Digest, now time.Time) ([]byte, error) {
	read := frozen.ReadKeyRing
	if bytes.HasPrefix(keys, []byte("-----BEGIN")) {
		read = frozen.ReadArmoredKeyRing
	}
	keyring, err := read(bytes.NewReader(keys))
	if err != nil {
		return nil, err
	}
	md, err := frozen.ReadMessage(bytes.NewReader(body), keyring, nil, nil)
	if err != nil {
		return nil, err
	}
	if !md.IsSigned {
		return nil, errors.New("not signed")
	}
	content, err := io.ReadAll(md.UnverifiedBody)
	switch {
	case err != nil:
		return nil, err
	case md.SignatureError != nil:
		return nil, md.SignatureError
	case md.SignedBy == nil:
		return nil, errors.New("invalid signature")
	case md.Signature == nil && md.SignatureV3 == nil:
		return nil, errors.New("neither version of signature is set")
	case md.Signature != nil && md.Signature.SigLifetimeSecs != nil:
		if end := md.Signature.CreationTime.Add(time.Duration(*md.Signature.SigLifetimeSecs) * time.Second); now.After(end) {
			return nil, fmt.Errorf("expired on %s", end)
		}
	}
	var p payload
	if err := jsonv2.Unmarshal(content, &p, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if p.Critical.Type != simplesigning.OpenPGP || p.Critical.Identity.Reference == "" || p.Critical.Image.Digest != d.String() {
		return nil, errors.New("of something else")
	}
	return content, nil
}
