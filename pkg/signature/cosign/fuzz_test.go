package cosign

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzParse: accepted manifests have signatures with payloads of limited size, and a key that did
// not sign never verifies.
func FuzzParse(f *testing.F) {
	key, other := ecKey(f), ecKey(f)
	var a artifact
	a.add(f, key, statement(repository, image))
	f.Add(a.text(f), []byte(statement(repository, image)))
	f.Add([]byte(`{"layers":[{"mediaType":"`+PayloadType+`","digest":"`+image+`","size":3,"annotations":{"`+Annotation+`":"eA=="}}]}`), []byte("abc"))
	f.Fuzz(func(t *testing.T, manifest, payload []byte) {
		all, err := Parse(manifest)
		if err != nil {
			return
		}
		for _, s := range all {
			if len(s.Bytes) == 0 || s.Payload.Size < 0 || s.Payload.Size > MaxPayload || s.Payload.Digest.Validate() != nil {
				t.Fatalf("accepted %+v", s)
			}
		}
		blob := func(context.Context, ocispec.Descriptor) ([]byte, error) { return payload, nil }
		policy := &Policy{Name: "p", Scopes: []string{repository}, Keys: []crypto.PublicKey{other.Public()}}
		if Verify(t.Context(), manifest, blob, repository, image, policy) == nil {
			t.Fatal("accepted without a signature")
		}
	})
}

// FuzzParsePolicy: an accepted policy has keys, and scopes that it covers.
func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(policyText(f, ecKey(f).Public())))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePolicy(text)
		if err != nil {
			return
		}
		if len(p.Keys) == 0 || len(p.Scopes) == 0 {
			t.Fatalf("accepted %+v", p)
		}
		for _, scope := range p.Scopes {
			if !strings.HasPrefix(scope, "*") && !p.Covers(scope) {
				t.Errorf("the scope %q is not covered", scope)
			}
		}
	})
}

// FuzzKey: an accepted key is of a supported type and size, and survives a round trip.
func FuzzKey(f *testing.F) {
	keys := []crypto.PublicKey{rsaKey(f).Public(), ecKey(f).Public()}
	for _, curve := range []elliptic.Curve{elliptic.P224(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		fail.On(f, err)
		keys = append(keys, key.Public())
	}
	for i, key := range keys {
		der, err := x509.MarshalPKIXPublicKey(key)
		fail.On(f, err)
		f.Add(der)
		f.Add(append(slices.Clone(der), 0))
		if _, err := readKey(der); (err != nil) != (i == 2) {
			f.Errorf("key %d: %v", i, err)
		}
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		key, err := readKey(der)
		if err != nil {
			return
		}
		switch k := key.(type) {
		case *rsa.PublicKey:
			if n := k.N.BitLen(); n < minRSA || n > maxRSA {
				t.Fatalf("accepted an RSA key of %d bits", n)
			}
		case *ecdsa.PublicKey:
			if k.Curve.Params().BitSize < 256 {
				t.Fatalf("accepted an ECDSA key on %s", k.Curve.Params().Name)
			}
		default:
			t.Fatalf("accepted a key of type %T", key)
		}
		again, err := x509.MarshalPKIXPublicKey(key)
		fail.On(t, err)
		read, err := readKey(again)
		fail.On(t, err)
		if same, ok := key.(interface{ Equal(crypto.PublicKey) bool }); !ok || !same.Equal(read) {
			t.Errorf("read back %v, want %v", read, key)
		}
	})
}
