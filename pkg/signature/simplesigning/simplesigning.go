// Package simplesigning reads the texts that signatures of images sign: those of OpenPGP ("simple signing",
// containers/image docs/containers-signature.5.md) and of cosign, which took over the format with another type.
package simplesigning

import (
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"
)

// The types of texts.
const (
	OpenPGP = "atomic container signature"
	Cosign  = "cosign container image signature"
)

// Read returns the image name and the digest in a text of a type. As in containers/image, the critical part must
// have exactly its known members; the optional part is up to the signer.
func Read(text []byte, kind string) (name string, d digest.Digest, err error) {
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
		err = errors.New("critical is missing")
	}
	if err == nil {
		err = jsonv2.Unmarshal(whole.Critical, &critical, known)
	}
	switch {
	case err != nil:
		return "", "", fmt.Errorf("reading the signed text: %w", err)
	case critical.Type != kind:
		return "", "", fmt.Errorf("type %q, want %q", critical.Type, kind)
	case critical.Image.Digest.Validate() != nil:
		return "", "", fmt.Errorf("it signs %q, which is not a digest", critical.Image.Digest)
	}
	return critical.Identity.Reference, critical.Image.Digest, nil
}
