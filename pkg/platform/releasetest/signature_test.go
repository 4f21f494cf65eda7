package releasetest

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
)

const someRef = "quay.io/openshift-release-dev/ocp-release:4.15.0-x86_64"

var someDigest = digest.FromString("some release")

func fixedKeys(t *testing.T) *Keys {
	t.Helper()
	k, err := FixedKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// read verifies a message with an armored key like library-go, and returns the statement.
func read(t *testing.T, key, message []byte) (s statement, signature error) {
	t.Helper()
	ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(key))
	if err != nil {
		t.Fatalf("reading the public key: %v", err)
	}
	at := &packet.Config{Time: func() time.Time { return published.Add(time.Hour) }}
	md, err := openpgp.ReadMessage(bytes.NewReader(message), ring, nil, at)
	if err != nil {
		t.Fatalf("reading the message: %v", err)
	}
	if !md.IsSigned {
		t.Fatal("the message is not signed")
	}
	text, err := io.ReadAll(md.UnverifiedBody)
	if err != nil {
		t.Fatalf("reading the message's body: %v", err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if md.SignedBy == nil {
		return s, errors.New("no key of the key ring made the signature")
	}
	return s, md.SignatureError
}

func TestSign(t *testing.T) {
	t.Parallel()
	k := fixedKeys(t)
	message, err := k.Sign(someRef, someDigest)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := packet.Read(bytes.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	var inner []string
	if c, ok := outer.(*packet.Compressed); ok {
		for r := packet.NewReader(c.Body); ; {
			p, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			inner = append(inner, fmt.Sprintf("%T", p))
			if l, ok := p.(*packet.LiteralData); ok {
				if _, err := io.Copy(io.Discard, l.Body); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if diff := cmp.Diff([]string{"*packet.OnePassSignature", "*packet.LiteralData", "*packet.Signature"}, inner); diff != "" {
		t.Errorf("packets within a %T (-want +got):\n%s", outer, diff)
	}
	got, err := read(t, k.OpenPGP, message)
	if err != nil {
		t.Errorf("the signature does not verify: %v", err)
	}
	var want statement
	want.Critical.Type, want.Critical.Image.Digest, want.Critical.Identity.Reference = "atomic container signature", someDigest, someRef
	want.Optional = map[string]string{"creator": creator}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statement (-want +got):\n%s", diff)
	}

	again, err := fixedKeys(t).Sign(someRef, someDigest)
	if err != nil || !bytes.Equal(message, again) {
		t.Errorf("signing again gives other bytes (%v)", err)
	}

	wrong, err := k.SignInvalid(someRef, someDigest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, k.OpenPGP, wrong); err == nil {
		t.Error("an invalid signature verifies")
	}
	other, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, other.OpenPGP, message); err == nil {
		t.Error("a signature verifies with another key")
	}
}

func TestCosign(t *testing.T) {
	t.Parallel()
	k := fixedKeys(t)
	names := []string{"quay.io/some/repository@" + someDigest.String(), someRef}
	img, err := k.Cosign(someDigest, names...)
	if err != nil {
		t.Fatal(err)
	}
	checkCosign(t, k.Policy, img, someDigest, names)
}

// checkCosign verifies an image of signatures, one for each name.
func checkCosign(t *testing.T, policy []byte, img v1.Image, d digest.Digest, names []string) {
	t.Helper()
	block, _ := pem.Decode(policy)
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.MediaType != "application/vnd.oci.image.manifest.v1+json" || len(m.Layers) != len(names) {
		t.Fatalf("%s of %d layers, want an OCI manifest of %d", m.MediaType, len(m.Layers), len(names))
	}
	for i, desc := range m.Layers {
		l, err := img.LayerByDigest(desc.Digest)
		if err != nil {
			t.Fatal(err)
		}
		rc, err := l.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(rc)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := base64.StdEncoding.DecodeString(desc.Annotations["dev.cosignproject.cosign/signature"])
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if err := rsa.VerifyPKCS1v15(key.(*rsa.PublicKey), crypto.SHA256, sum[:], signature); err != nil {
			t.Errorf("layer %d: %v", i, err)
		}
		var s statement
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if s.Critical.Type != cosignType || s.Critical.Image.Digest != d || s.Critical.Identity.Reference != names[i] ||
			desc.MediaType != "application/vnd.dev.cosign.simplesigning.v1+json" {
			t.Errorf("layer %d is %s: %s, want %s of %s", i, desc.MediaType, text, names[i], d)
		}
	}
}
