package gpg

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/signature/simplesigning"
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
		name, d, err := simplesigning.Read(text, simplesigning.OpenPGP)
		return ImageSignature{Key: s.Key, Reference: name, Digest: d}, err
	}
	return ImageSignature{}, errors.New(strings.Join(reasons, "; "))
}

// IsSignature reports whether body is one signature of one text. It is not verified.
func IsSignature(body []byte) bool {
	_, err := readMessage(body)
	return err == nil
}
