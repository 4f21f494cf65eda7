package gpg

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"
)

// An ImageSignature is a valid OpenPGP signature of an image.
type ImageSignature struct {
	// Key is the fingerprint of the signing key, in upper case hexadecimal.
	Key string
	// Reference and Digest are what it signs.
	Reference string
	Digest    digest.Digest
}

// OpenImage verifies a signature of an image by the rules of containers/image, and returns what it says.
// One key of any keyring must have made it. Unlike in signatures of releases, the optional part is up to
// the signer.
func OpenImage(body []byte, keyrings []Keyring, now time.Time) (ImageSignature, error) {
	m, err := readMessage(body)
	if err != nil {
		return ImageSignature{}, err
	}
	var reasons []string
	for _, k := range keyrings {
		text, s, err := m.verify(k, now)
		if err != nil {
			if !slices.Contains(reasons, err.Error()) {
				reasons = append(reasons, err.Error())
			}
			continue
		}
		name, d, err := readImagePayload(text)
		return ImageSignature{Key: s.Key, Reference: name, Digest: d}, err
	}
	return ImageSignature{}, errors.New(strings.Join(reasons, "; "))
}

// IsSignature reports whether body is one signature of one text. It is not verified.
func IsSignature(body []byte) bool {
	_, err := readMessage(body)
	return err == nil
}

// readImagePayload returns the image name and the digest that were signed.
func readImagePayload(text []byte) (name string, d digest.Digest, err error) {
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
	if err = jsonv2.Unmarshal(text, &whole, known); err == nil {
		err = jsonv2.Unmarshal(whole.Critical, &critical, known)
	}
	switch {
	case err != nil:
		return "", "", fmt.Errorf("reading the signed text: %w", err)
	case critical.Type != signatureType:
		return "", "", fmt.Errorf("type %q, want %q", critical.Type, signatureType)
	case critical.Image.Digest.Validate() != nil:
		return "", "", fmt.Errorf("it signs %q, which is not a digest", critical.Image.Digest)
	}
	return critical.Identity.Reference, critical.Image.Digest, nil
}
