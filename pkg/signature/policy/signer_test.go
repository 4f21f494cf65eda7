package policy

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
)

// What follows makes signatures as cosign, Fulcio and Rekor do, with the standard library alone.

var (
	ecOnce  = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	ec2Once = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	rsaOnce = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	edOnce  = sync.OnceValue(func() ed25519.PrivateKey {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return must(key, err)
	})
	logOnce = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) //nolint:forbidigo // the keys of tests are made once, without a test to fail
	}
	return v
}

// sign signs content: a hash of it, or with Ed25519 itself.
func sign(key crypto.Signer, content []byte) []byte {
	if _, ok := key.(ed25519.PrivateKey); ok {
		return must(key.Sign(rand.Reader, content, crypto.Hash(0)))
	}
	hash := sha256.Sum256(content)
	return must(key.Sign(rand.Reader, hash[:], crypto.SHA256))
}

func publicKey(key crypto.Signer) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(key.Public()))})
}

// simple returns the payload that cosign signs.
func simple(name string, d digest.Digest) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, name, d)
}

// attach returns a signature as it is stored beside an image.
func attach(key crypto.Signer, payload []byte) Attachment {
	return Attachment{Payload: payload, Signature: cosign.Signature{
		Payload: ocispec.Descriptor{MediaType: cosign.PayloadType, Digest: digest.FromBytes(payload), Size: int64(len(payload))},
		Bytes:   sign(key, payload),
	}}
}

// logBody returns the body of an entry of the log.
func logBody(content, signature, verifier []byte) []byte {
	hash := sha256.Sum256(content)
	return fmt.Appendf(nil, `{"apiVersion":"0.0.1","kind":"hashedrekord","spec":{"data":{"hash":{"algorithm":"sha256","value":%q}},"signature":{"content":%q,"publicKey":{"content":%q}}}}`,
		hex.EncodeToString(hash[:]), base64.StdEncoding.EncodeToString(signature), base64.StdEncoding.EncodeToString(verifier))
}

// promise returns the signed timestamp of a body, as Rekor makes it, and the annotation with it.
func promise(log crypto.Signer, body []byte, at time.Time) (timestamp []byte, annotation string) {
	payload := fmt.Sprintf(`{"body":%q,"integratedTime":%d,"logID":"c0d2","logIndex":7}`, base64.StdEncoding.EncodeToString(body), at.Unix())
	timestamp = sign(log, []byte(payload))
	// The annotation is not canonical.
	return timestamp, fmt.Sprintf(`{"SignedEntryTimestamp":%q, "Payload": {"logIndex":7,"logID":"c0d2","integratedTime":%d,"body":%q}}`,
		base64.StdEncoding.EncodeToString(timestamp), at.Unix(), base64.StdEncoding.EncodeToString(body))
}

// An authority issues certificates as Fulcio does.
type authority struct {
	root, middle       *x509.Certificate
	rootKey, middleKey *ecdsa.PrivateKey
}

var authorityOnce = sync.OnceValue(func() *authority { return newAuthority("ca") })

func newAuthority(name string) *authority {
	a := &authority{rootKey: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), middleKey: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: day(-1000), NotAfter: day(1000), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	a.root = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, template, a.rootKey.Public(), a.rootKey))))
	template.SerialNumber, template.Subject = big.NewInt(2), pkix.Name{CommonName: name + " intermediate"}
	a.middle = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, a.root, a.middleKey.Public(), a.rootKey))))
	return a
}

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func day(n int) time.Time { return now.AddDate(0, 0, n) }

// issue issues a certificate for ten minutes from start.
func (a *authority) issue(key crypto.Signer, start time.Time, change func(*x509.Certificate)) []byte {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3), NotBefore: start, NotAfter: start.Add(10 * time.Minute), EmailAddresses: []string{"dev@example.com"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{
			{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte("https://login.example.com")},
			{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}, Value: must(asn1.Marshal("https://login.example.com"))},
		},
	}
	if change != nil {
		change(template)
	}
	return must(x509.CreateCertificate(rand.Reader, template, a.middle, key.Public(), a.middleKey))
}

func certificate(der ...[]byte) []byte {
	var text []byte
	for _, d := range der {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d})...)
	}
	return text
}

func (a *authority) chain() []byte { return certificate(a.middle.Raw, a.root.Raw) }

// bundle returns a sigstore bundle of version 0.3 around a statement about a digest.
func bundle(key crypto.Signer, d digest.Digest, change func(b map[string]any)) []byte {
	statement := fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`, d.Encoded())
	return envelope(key, statement, change)
}

func envelope(key crypto.Signer, statement []byte, change func(b map[string]any)) []byte {
	const kind = "application/vnd.in-toto+json"
	signature := sign(key, fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(statement), statement))
	b := map[string]any{
		"mediaType":            "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "x"}, "timestampVerificationData": map[string]any{}},
		"dsseEnvelope":         map[string]any{"payload": statement, "payloadType": kind, "signatures": []any{map[string]any{"sig": signature, "keyid": ""}}},
	}
	if change != nil {
		change(b)
	}
	return must(json.Marshal(b))
}

// found is a Finder that has the signatures of one image.
type found struct {
	Attached
	simple [][]byte
	err    error
}

func (f *found) Sigstore(context.Context, Image) (*Attached, error) { return &f.Attached, f.err }
func (f *found) Simple(context.Context, Image) ([][]byte, error)    { return f.simple, f.err }

// parse parses a policy with files.
func parse(t *testing.T, text string, files map[string][]byte) *Policy {
	t.Helper()
	p, err := Parse("policy.json", []byte(text), reading(files))
	fail.On(t, err)
	return p
}
