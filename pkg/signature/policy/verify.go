package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/signature/cosign"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// An Image is one manifest that a policy judges.
type Image struct {
	// Reference is the image as it is requested, with its original name. Layout is the absolute folder
	// of an image in an OCI layout, which has no reference.
	Reference reference.Reference
	Layout    string
	// Digest is the digest of the manifest. It differs from the one in Reference for an image in an
	// index.
	Digest digest.Digest
}

// String returns the image with the digest that is judged.
func (i Image) String() string {
	if i.Layout != "" {
		return "oci://" + i.Layout + "@" + i.Digest.String()
	}
	return i.Reference.Name() + "@" + i.Digest.String()
}

// A Finder finds the signatures of images, without judging them. What does not exist is no error.
type Finder interface {
	// Sigstore returns the sigstore signatures of an image.
	Sigstore(ctx context.Context, img Image) (*Attached, error)
	// Simple returns the OpenPGP signatures of an image.
	Simple(ctx context.Context, img Image) ([][]byte, error)
}

// Attached are the sigstore signatures that are stored beside an image.
type Attached struct {
	Signatures []Attachment
	// Bundles are texts of sigstore bundles. Manifest is the image's; it is needed if there are
	// bundles.
	Bundles  [][]byte
	Manifest []byte
	// Problems say why something that is stored beside the image is not one of them.
	Problems []error
}

// An Attachment is a signature with its payload.
type Attachment struct {
	cosign.Signature
	Payload []byte
}

// A Signer is who signed an image, by one requirement.
type Signer struct {
	// Type is the type of the requirement: SigstoreSigned or SignedBy.
	Type string
	// Name is "key " and a fingerprint, or an identity and its issuer.
	Name string
	// Requirement is the requirement that was satisfied.
	Requirement *Requirement
	// Attachment reports whether it is a signature that clusters find: one at the tag of the digest.
	Attachment bool
}

// Keyless verifies a fulcio requirement in another way than with the keys of the policy, and returns an
// error for an image that it does not accept.
type Keyless func(ctx context.Context, img Image, email, issuer string) error

// A Verifier applies a policy.
type Verifier struct {
	Policy *Policy
	Finder Finder
	// Keyless, if not nil, verifies requirements with fulcio.
	Keyless Keyless
	// Now is the time for certificates without a log. The default is time.Now.
	Now func() time.Time
}

// Verify returns who signed an image, one signer for each requirement that asks for a signature. It
// returns none if the policy accepts the image unsigned. An image that the policy does not accept is a
// *RefusedError. Other errors mean that it could not be decided.
func (v *Verifier) Verify(ctx context.Context, img Image) ([]Signer, error) {
	requirements, scope := v.Policy.requirements(img)
	now := time.Now
	if v.Now != nil {
		now = v.Now
	}
	var signers []Signer
	for _, r := range requirements {
		refused := &RefusedError{Image: img, Policy: v.Policy.Name, Scope: scope, Type: r.Type}
		var s Signer
		var err error
		switch r.Type {
		case AcceptAnything:
			continue
		case Reject:
			return nil, refused
		case SignedBy:
			s, err = v.signedBy(ctx, img, r, now(), refused)
		default:
			s, err = v.sigstoreSigned(ctx, img, r, now(), refused)
		}
		if err != nil {
			return nil, err
		}
		s.Type, s.Requirement = r.Type, r
		signers = append(signers, s)
	}
	return signers, nil
}

func (v *Verifier) signedBy(ctx context.Context, img Image, r *Requirement, now time.Time, refused *RefusedError) (Signer, error) {
	if err := r.usable(v.Policy, refused.Scope); err != nil {
		return Signer{}, err
	}
	bodies, err := v.Finder.Simple(ctx, img)
	if err != nil {
		return Signer{}, fmt.Errorf("looking for signatures of %s: %w", img, err)
	}
	for i, body := range bodies {
		s, err := gpg.OpenImage(body, r.keyrings, now)
		switch {
		case err != nil:
		case s.Digest != img.Digest:
			err = fmt.Errorf("it signs another image, %s", s.Digest)
		default:
			err = r.Identity.accepts(img, s.Reference)
		}
		if err == nil {
			return Signer{Name: "key " + s.Key}, nil
		}
		refused.add(i, "signature", err)
	}
	return Signer{}, refused
}

func (v *Verifier) sigstoreSigned(ctx context.Context, img Image, r *Requirement, now time.Time, refused *RefusedError) (Signer, error) {
	if v.Keyless != nil && r.Material.Email != "" {
		err := v.Keyless(ctx, img, r.Material.Email, r.Material.Issuer)
		return Signer{Name: r.Material.Email + " (" + r.Material.Issuer + ")"}, err
	}
	if err := r.usable(v.Policy, refused.Scope); err != nil {
		return Signer{}, err
	}
	found, err := v.Finder.Sigstore(ctx, img)
	if err != nil {
		return Signer{}, fmt.Errorf("looking for signatures of %s: %w", img, err)
	}
	for i, a := range found.Signatures {
		s, err := r.root.Verify(a.Signature, a.Payload, now)
		if err == nil {
			err = r.accepts(img, s)
		}
		if err == nil {
			return Signer{Name: s.Signer, Attachment: true}, nil
		}
		refused.add(i, "signature", err)
	}
	for i, text := range found.Bundles {
		b, err := cosign.ReadBundle(text)
		if err == nil && !b.Signs() {
			continue // an attestation
		}
		var s cosign.Statement
		if err == nil {
			s, err = r.root.VerifyBundle(b, found.Manifest, now)
		}
		if err == nil {
			err = r.accepts(img, s)
		}
		if err == nil {
			return Signer{Name: s.Signer}, nil
		}
		refused.add(i, "bundle", err)
	}
	refused.Reasons = append(refused.Reasons, found.Problems...)
	return Signer{}, refused
}

// accepts returns an error unless a valid signature is one of the image.
func (r *Requirement) accepts(img Image, s cosign.Statement) error {
	switch {
	case s.Digest != img.Digest:
		return fmt.Errorf("it signs another image, %s", s.Digest)
	case s.Reference != "":
		return r.Identity.accepts(img, s.Reference)
	case !r.Identity.acceptsUnnamed(img):
		return fmt.Errorf("it names only the digest, and the policy requires %s; name the image by its digest", r.Identity.wanted(img))
	}
	return nil
}

// A RefusedError means that a policy does not accept an image.
type RefusedError struct {
	Image Image
	// Policy is the name of the file, Scope the scope that decided, Type the requirement.
	Policy, Scope, Type string
	// Reasons say what is wrong with each signature. There are none if the image has no signature.
	Reasons []error
}

func (e *RefusedError) add(i int, what string, err error) {
	e.Reasons = append(e.Reasons, fmt.Errorf("%s %d: %w", what, i+1, err))
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s (%s) refuses %s: ", e.Policy, e.Scope, e.Image)
	switch {
	case e.Type == Reject:
		return text + "it rejects every image there"
	case len(e.Reasons) == 0:
		return text + e.Type + " requires a signature, and there is none"
	}
	lines := make([]string, len(e.Reasons))
	for i, reason := range e.Reasons {
		lines[i] = reason.Error()
	}
	return text + e.Type + " accepts no signature: " + strings.Join(lines, "; ")
}

// Unwrap returns what is wrong with each signature.
func (e *RefusedError) Unwrap() []error { return e.Reasons }

// Advice implements advice.Adviser.
func (e *RefusedError) Advice() (advice.Kind, string) { return advice.Mismatch, "" }
