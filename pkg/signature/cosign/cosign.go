// Package cosign verifies the signatures that cosign puts beside an image, against
// a policy as clusters have it.
//
// The signatures of the image with digest sha256:<hex> are an image manifest at the
// tag sha256-<hex>.sig of the same repository. Each of its layers is a payload that
// names the digest, and has the signature of that payload as an annotation. A
// Policy is what a ClusterImagePolicy (config.openshift.io/v1) says: for which
// repositories, signed with which key. OpenShift brings one since 4.20, and nodes
// enforce it on mirrors as well, so from 4.21 on an image without its signatures
// cannot be pulled.
//
// An image is trusted if one of the signatures is good, as with containers/image:
// the key made it, it names the digest, and it is about the repository that the
// image is known by. On a mirror that is still the original one. Everything that a
// policy may ask for beyond a public key is an error, never left unchecked.
package cosign

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/blang/semver/v4"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

const (
	// PayloadType is the media type of a layer that is a payload.
	PayloadType = "application/vnd.dev.cosign.simplesigning.v1+json"
	// Annotation is the key of a layer's annotation with the signature, in base64.
	Annotation = "dev.cosignproject.cosign/signature"

	// MaxPayload bounds a payload, in bytes; real ones have about 250.
	MaxPayload = 64 << 10
	// maxSignatures bounds how many signatures of an image are looked at.
	maxSignatures = 128

	payloadType = "cosign container image signature"
)

// Tag is where a repository has the signatures of the image d: "sha256-<hex>.sig".
func Tag(d digest.Digest) string { return d.Algorithm().String() + "-" + d.Encoded() + ".sig" }

// Needed reports whether clusters of a version refuse images of the platform that
// have no signatures: 4.21 and later, its previews included.
func Needed(version semver.Version) bool {
	return version.Major > 4 || version.Major == 4 && version.Minor >= 21
}

// A Signature is one signature of an image: the payload, and what signs it.
type Signature struct {
	Payload ocispec.Descriptor
	Bytes   []byte
}

// Parse reads the manifest of signatures. Layers of other media types are left out;
// it is an error if none is a payload, or if one lacks its signature.
func Parse(manifest []byte) ([]Signature, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("reading the manifest of signatures: %w", err)
	}
	var all []Signature
	for i, layer := range m.Layers {
		if layer.MediaType != PayloadType {
			continue
		}
		if err := layer.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("reading the manifest of signatures: layer %d: digest %q: %w", i+1, layer.Digest, err)
		}
		if layer.Size < 0 || layer.Size > MaxPayload {
			return nil, fmt.Errorf("reading the manifest of signatures: layer %d has %d bytes; a payload has at most %d", i+1, layer.Size, MaxPayload)
		}
		signature, err := base64.StdEncoding.DecodeString(layer.Annotations[Annotation])
		if err != nil || len(signature) == 0 {
			return nil, fmt.Errorf("reading the manifest of signatures: layer %d has no signature in its annotation %s", i+1, Annotation)
		}
		all = append(all, Signature{layer, signature})
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("reading the manifest of signatures: no layer is a payload of cosign's; is it the manifest at a tag that ends in .sig?")
	case len(all) > maxSignatures:
		return nil, fmt.Errorf("reading the manifest of signatures: it has %d, at most %d are looked at", len(all), maxSignatures)
	}
	return all, nil
}

// Verify reports what is wrong with the signatures of the image d of a repository,
// "quay.io/org/name": one of them has to satisfy the policy. The repository is the
// one that the image is known by, not the mirror's. Blob gives the content of a
// payload; it is compared with its digest.
func Verify(ctx context.Context, manifest []byte, blob func(context.Context, ocispec.Descriptor) ([]byte, error), repository string, d digest.Digest, p *Policy) error {
	all, err := Parse(manifest)
	if err != nil {
		return fmt.Errorf("verifying the signatures of %s@%s: %w", repository, d, err)
	}
	var problems []error
	for i, s := range all {
		payload, err := blob(ctx, s.Payload)
		if ctx.Err() != nil {
			return fmt.Errorf("verifying the signatures of %s@%s: %w", repository, d, ctx.Err())
		}
		if err == nil {
			err = s.verify(payload, repository, d, p.Keys)
		}
		if err == nil {
			return nil
		}
		problems = append(problems, fmt.Errorf("signature %d: %w", i+1, err))
	}
	return fmt.Errorf("no signature of %s@%s satisfies the policy %s:\n%w", repository, d, p.Name, errors.Join(problems...))
}

// verify reports what is wrong with one signature.
func (s Signature) verify(payload []byte, repository string, d digest.Digest, keys []crypto.PublicKey) error {
	if int64(len(payload)) != s.Payload.Size || s.Payload.Digest.Algorithm().FromBytes(payload) != s.Payload.Digest {
		return fmt.Errorf("its payload is not what %s stands for", s.Payload.Digest)
	}
	hash := sha256.Sum256(payload)
	made := false
	for _, key := range keys {
		switch k := key.(type) {
		case *rsa.PublicKey:
			made = rsa.VerifyPKCS1v15(k, crypto.SHA256, hash[:], s.Bytes) == nil
		case *ecdsa.PublicKey:
			made = ecdsa.VerifyASN1(k, hash[:], s.Bytes)
		}
		if made {
			break
		}
	}
	if !made {
		return errors.New("no key of the policy made it")
	}
	name, signed, err := readPayload(payload)
	switch {
	case err != nil:
		return err
	case signed != d:
		return fmt.Errorf("it is the signature of another image, %s", signed)
	}
	about, err := reference.Parse(name)
	if err != nil {
		return fmt.Errorf("it is about %q: %w", name, err)
	}
	if about.Name() != repository {
		return fmt.Errorf("it is about %s, which is another repository", name)
	}
	return nil
}

// readPayload reads what was signed: the name of an image and its digest. As with
// containers/image, what is critical has its members and no others; the rest is the
// signer's affair.
func readPayload(text []byte) (name string, d digest.Digest, err error) {
	var whole struct {
		Critical jsontext.Value `json:"critical"`
		Optional jsontext.Value `json:"optional"`
	}
	var critical struct {
		Type  string `json:"type"`
		Image struct {
			Digest digest.Digest `json:"docker-manifest-digest"`
		} `json:"image"`
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
	}
	known := jsonv2.RejectUnknownMembers(true)
	err = jsonv2.Unmarshal(text, &whole, known)
	if err == nil && whole.Critical == nil {
		err = errors.New("nothing is critical")
	}
	if err == nil {
		err = jsonv2.Unmarshal(whole.Critical, &critical, known)
	}
	if err != nil {
		return "", "", fmt.Errorf("reading what it signs: %w", err)
	}
	if critical.Type != payloadType {
		return "", "", fmt.Errorf("it is of type %q; want %q", critical.Type, payloadType)
	}
	return critical.Identity.Reference, critical.Image.Digest, nil
}
