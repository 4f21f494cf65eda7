package trust_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
)

// What follows signs images as cosign does, and verifies signatures at a registry, with the standard
// library and a client that share no code with Gantry.

// signingKey makes a key and writes its public half to a file.
func signingKey(s *mirrortest.Site, file string) *ecdsa.PrivateKey {
	s.T.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.T.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		s.T.Fatal(err)
	}
	s.Write(file, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	return key
}

// signImage stores a signature beside an image. The payload is what cosign writes for named.
func signImage(s *mirrortest.Site, key crypto.Signer, repository, hash, named string) {
	s.T.Helper()
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, named, hash)
	sum := sha256.Sum256(payload)
	signature, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		s.T.Fatal(err)
	}
	layer := mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)},
	}
	img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Push(repository+":"+strings.Replace(hash, ":", "-", 1)+".sig", img)
}

// signedAt verifies the signature of an image at a registry with crypto/ecdsa and encoding/json alone.
func signedAt(s *mirrortest.Site, key *ecdsa.PublicKey, host, repository, hash, named string) error {
	s.T.Helper()
	get := func(path string) []byte {
		req, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, "http://"+host+"/v2/"+repository+path, nil)
		if err != nil {
			s.T.Fatal(err)
		}
		req.Header.Set("Accept", string(types.OCIManifestSchema1))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.T.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return nil
		}
		return body
	}
	var m struct {
		Layers []struct {
			Digest      string
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(get("/manifests/"+strings.Replace(hash, ":", "-", 1)+".sig"), &m); err != nil || len(m.Layers) != 1 {
		return fmt.Errorf("no signature at %s/%s (%d layers): %w", host, repository, len(m.Layers), err)
	}
	payload := get("/blobs/" + m.Layers[0].Digest)
	signature, err := base64.StdEncoding.DecodeString(m.Layers[0].Annotations["dev.cosignproject.cosign/signature"])
	if err != nil {
		return err
	}
	sum := sha256.Sum256(payload)
	if !ecdsa.VerifyASN1(key, sum[:], signature) {
		return fmt.Errorf("the key did not make the signature")
	}
	var signed struct {
		Critical struct {
			Image struct {
				D string `json:"docker-manifest-digest"`
			}
			Identity struct {
				R string `json:"docker-reference"`
			}
		}
	}
	if err := json.Unmarshal(payload, &signed); err != nil {
		return err
	}
	if signed.Critical.Image.D != hash || signed.Critical.Identity.R != named {
		return fmt.Errorf("it signs %s", payload)
	}
	return nil
}
