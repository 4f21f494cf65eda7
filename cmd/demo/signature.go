package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// Of a signature as "cosign sign --key" stores it.
const (
	signaturePayload    = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// signImage signs an image at the source and the images of its index, as "cosign sign --recursive" does, and writes
// the public key.
func (d *demo) signImage(ctx context.Context) (*ecdsa.PublicKey, error) {
	c, repository := registrytest.NewClient(d.source.host), "images.example.net/"+signedRepository
	image, err := c.Pull(ctx, repository, signedTag)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(d.dir, imageKey), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644); err != nil {
		return nil, err
	}
	var index ocispec.Index
	text, err := fetch(ctx, d.source.host, repository, "manifests/"+image.Digest.String())
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err == nil {
		err = sign(ctx, c, repository, image.Digest, key)
	}
	for _, m := range index.Manifests {
		err = errors.Join(err, sign(ctx, c, repository, m.Digest, key))
	}
	return &key.PublicKey, err
}

// sign pushes the signature of an image.
func sign(ctx context.Context, c *registrytest.Client, repository string, image digest.Digest, key *ecdsa.PrivateKey) error {
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`,
		repository, image)
	hash := sha256.Sum256(payload)
	signature, err := ecdsa.SignASN1(rand.Reader, key, hash[:])
	if err != nil {
		return err
	}
	config := []byte(`{"architecture":"","os":"","rootfs":{"type":"layers","diff_ids":[]}}`)
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: digest.FromBytes(config), Size: int64(len(config))},
		Layers: []ocispec.Descriptor{{
			MediaType: signaturePayload, Digest: digest.FromBytes(payload), Size: int64(len(payload)),
			Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)},
		}},
	})
	if err != nil {
		return err
	}
	_, err = c.PushRaw(ctx, repository, signatureTag(image), ocispec.MediaTypeImageManifest, manifest, config, payload)
	return err
}

// signatureTag returns the tag of the signature of an image.
func signatureTag(image digest.Digest) string { return "sha256-" + image.Encoded() + ".sig" }

// checkSignature verifies the signature of the image in the mirror, without code of Gantry.
func (d *demo) checkSignature(ctx context.Context, key *ecdsa.PublicKey) error {
	image, err := registrytest.NewClient(d.near.host).Pull(ctx, signedRepository, signedTag)
	if err != nil {
		return err
	}
	tag := signatureTag(image.Digest)
	text, err := fetch(ctx, d.near.host, signedRepository, "manifests/"+tag)
	if err != nil {
		return err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil || len(manifest.Layers) != 1 {
		return fmt.Errorf("the signature has %d layers, %w", len(manifest.Layers), err)
	}
	payload, err := fetch(ctx, d.near.host, signedRepository, "blobs/"+manifest.Layers[0].Digest.String())
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(manifest.Layers[0].Annotations[signatureAnnotation])
	hash := sha256.Sum256(payload)
	var signed struct {
		Critical struct {
			Image struct {
				Digest digest.Digest `json:"docker-manifest-digest"`
			}
		}
	}
	if err = errors.Join(err, json.Unmarshal(payload, &signed)); err != nil || signed.Critical.Image.Digest != image.Digest || !ecdsa.VerifyASN1(key, hash[:], signature) {
		return fmt.Errorf("the signature of %s:%s in the mirror is invalid, or of %s: %w", signedRepository, signedTag, signed.Critical.Image.Digest, err)
	}
	d.say("%s/%s:%s  its signature at the mirror is valid: %s", d.near.host, signedRepository, signedTag, tag)
	return nil
}

// fetch reads something of a repository.
func fetch(ctx context.Context, host, repository, name string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/v2/"+repository+"/"+name, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Add("Accept", ocispec.MediaTypeImageManifest)
	req.Header.Add("Accept", ocispec.MediaTypeImageIndex)
	req.Header.Add("Accept", "application/vnd.docker.distribution.manifest.list.v2+json")
	req.Header.Add("Accept", "application/vnd.docker.distribution.manifest.v2+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("reading %s of %s: %s", name, repository, resp.Status)
	}
	return text, err
}
