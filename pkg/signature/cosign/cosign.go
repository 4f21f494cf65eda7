// Package cosign verifies the signatures that cosign stores beside an image, against a policy such
// as clusters have.
//
// The signatures of the image with digest sha256:<hex> are an image manifest at the tag
// sha256-<hex>.sig of the same repository. Each layer is a payload that names the digest; an
// annotation of the layer holds the signature of the payload. A Policy is what a ClusterImagePolicy
// (config.openshift.io/v1) says: which repositories have to be signed with which key. OpenShift
// ships one since 4.20, and nodes enforce it on mirrors as well. From 4.21 on, an image without its
// signatures cannot be pulled.
//
// An image is trusted if one of its signatures is valid, as in containers/image: one of the keys
// made it, it names the digest, and it names the repository that the image is known by. For a
// mirrored image, that is still the original repository. Everything that a policy can require
// beyond a public key is an error; nothing is left unchecked.
package cosign

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/simplesigning"
)

const (
	// PayloadType is the media type of a payload layer.
	PayloadType = "application/vnd.dev.cosign.simplesigning.v1+json"
	// Annotation is the key of the layer annotation that holds the signature, in base64.
	Annotation = "dev.cosignproject.cosign/signature"
	// CertificateAnnotation has the certificate of the key that signed, in PEM, ChainAnnotation the
	// certificates up to the root, and LogAnnotation the promise of a transparency log (Rekor).
	CertificateAnnotation = "dev.sigstore.cosign/certificate"
	ChainAnnotation       = "dev.sigstore.cosign/chain"
	LogAnnotation         = "dev.sigstore.cosign/bundle"

	// MaxPayload is the largest payload in bytes; real ones have about 250.
	MaxPayload = 64 << 10
	// maxSignatures limits how many signatures of an image are read.
	maxSignatures = 128
)

// Tag returns the tag of the signatures of the image d: "sha256-<hex>.sig".
func Tag(d digest.Digest) string { return d.Algorithm().String() + "-" + d.Encoded() + ".sig" }

// Needed reports whether clusters of a version refuse unsigned images of the platform: 4.21 and
// later, including its previews.
func Needed(version semver.Version) bool {
	return version.Major > 4 || version.Major == 4 && version.Minor >= 21
}

// A Signature is one signature of an image: the payload and its signature.
type Signature struct {
	Payload ocispec.Descriptor
	Bytes   []byte
	// Certificate and Chain are in PEM, Log is JSON. They are "" if the signature has none.
	Certificate, Chain, Log string
}

// Layers returns the layers of an image manifest.
func Layers(manifest []byte) ([]ocispec.Descriptor, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, err
	}
	for _, layer := range m.Layers {
		if err := layer.Digest.Validate(); err != nil {
			return nil, err
		}
	}
	return m.Layers, nil
}

// Parse reads a signature manifest. Layers of other media types are ignored. It is an error if no
// layer is a payload, or if a payload has no signature.
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
		all = append(all, Signature{
			Payload: layer, Bytes: signature,
			Certificate: layer.Annotations[CertificateAnnotation], Chain: layer.Annotations[ChainAnnotation], Log: layer.Annotations[LogAnnotation],
		})
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("reading the manifest of signatures: no layer is a cosign payload; check that the tag ends in .sig")
	case len(all) > maxSignatures:
		return nil, fmt.Errorf("reading the manifest of signatures: %d signatures exceed the limit of %d", len(all), maxSignatures)
	}
	return all, nil
}

// Verify returns an error unless one signature of the image d of a repository, "quay.io/org/name",
// satisfies the policy. The repository is the original one, not the mirror's. blob returns the
// content of a payload, which Verify compares with its digest.
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

// verify returns an error if one signature is invalid.
func (s Signature) verify(payload []byte, repository string, d digest.Digest, keys []crypto.PublicKey) error {
	if int64(len(payload)) != s.Payload.Size || s.Payload.Digest.Algorithm().FromBytes(payload) != s.Payload.Digest {
		return fmt.Errorf("its payload does not match %s", s.Payload.Digest)
	}
	if !slices.ContainsFunc(keys, func(key crypto.PublicKey) bool { return made(key, payload, s.Bytes) }) {
		return errors.New("no key of the policy matches")
	}
	name, signed, err := simplesigning.Read(payload, simplesigning.Cosign)
	switch {
	case err != nil:
		return err
	case signed != d:
		return fmt.Errorf("it signs another image, %s", signed)
	}
	about, err := reference.Parse(name)
	if err != nil {
		return fmt.Errorf("it names %q: %w", name, err)
	}
	if about.Name() != repository {
		return fmt.Errorf("it names another repository, %s", name)
	}
	return nil
}
