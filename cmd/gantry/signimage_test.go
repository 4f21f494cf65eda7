package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// What follows signs images as cosign does, and verifies signatures at a registry, with the standard
// library and a client that share no code with Gantry.

// signingKey makes a key and writes its public half to a file.
func (w *fixture) signingKey(file string) *ecdsa.PrivateKey {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail.On(w.t, err)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	fail.On(w.t, err)
	w.write(file, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	return key
}

// signImage stores a signature beside an image. The payload is what cosign writes for named.
func (w *fixture) signImage(key crypto.Signer, repository, hash, named string) {
	w.t.Helper()
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, named, hash)
	sum := sha256.Sum256(payload)
	signature, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	fail.On(w.t, err)
	layer := mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)},
	}
	img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
	fail.On(w.t, err)
	if _, err := w.source.Client().Push(w.t.Context(), repository, strings.Replace(hash, ":", "-", 1)+".sig", img); err != nil {
		w.t.Fatal(err)
	}
}
