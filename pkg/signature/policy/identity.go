package policy

import (
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// The types of signedIdentity.
const (
	MatchExact             = "matchExact"
	MatchRepoDigestOrExact = "matchRepoDigestOrExact"
	MatchRepository        = "matchRepository"
	ExactReference         = "exactReference"
	ExactRepository        = "exactRepository"
	RemapIdentity          = "remapIdentity"
)

// An Identity says which name a signature may have.
type Identity struct {
	Type string
	// Name is the reference or repository of ExactReference and ExactRepository.
	Name string
	// Prefix is replaced by SignedPrefix in the name of the image, with RemapIdentity.
	Prefix, SignedPrefix string

	reference reference.Reference
}

// parseIdentity parses a signedIdentity. The default is MatchRepoDigestOrExact.
func parseIdentity(text jsontext.Value) (Identity, error) {
	if text == nil {
		return Identity{Type: MatchRepoDigestOrExact}, nil
	}
	var raw struct {
		Type         string  `json:"type"`
		Reference    *string `json:"dockerReference"`
		Repository   *string `json:"dockerRepository"`
		Prefix       *string `json:"prefix"`
		SignedPrefix *string `json:"signedPrefix"`
	}
	if err := jsonv2.Unmarshal(text, &raw, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Identity{}, fmt.Errorf("signedIdentity: %w", err)
	}
	i := Identity{Type: raw.Type}
	given := map[string]*string{"dockerReference": raw.Reference, "dockerRepository": raw.Repository, "prefix": raw.Prefix, "signedPrefix": raw.SignedPrefix}
	var wants []string
	switch raw.Type {
	case MatchExact, MatchRepoDigestOrExact, MatchRepository:
	case ExactReference:
		wants = []string{"dockerReference"}
	case ExactRepository:
		wants = []string{"dockerRepository"}
	case RemapIdentity:
		wants = []string{"prefix", "signedPrefix"}
	default:
		return i, fmt.Errorf("signedIdentity: the type %q is unknown", raw.Type)
	}
	for _, member := range wants {
		if given[member] == nil {
			return i, fmt.Errorf("signedIdentity: %s needs %s", raw.Type, member)
		}
		delete(given, member)
	}
	for _, member := range []string{"dockerReference", "dockerRepository", "prefix", "signedPrefix"} {
		if given[member] != nil {
			return i, fmt.Errorf("signedIdentity: %s has no %s", raw.Type, member)
		}
	}
	return i, i.set(raw.Reference, raw.Repository, raw.Prefix, raw.SignedPrefix)
}

// set checks and stores what names the identity.
func (i *Identity) set(ref, repository, prefix, signedPrefix *string) (err error) {
	switch i.Type {
	case ExactReference:
		i.Name = *ref
		if i.reference, err = reference.Parse(*ref); err == nil && i.reference.Identifier() == "" {
			err = errors.New("it has neither a tag nor a digest")
		}
		if err != nil {
			return fmt.Errorf("signedIdentity: dockerReference %q: %w", *ref, err)
		}
	case ExactRepository:
		i.Name = *repository
		if i.reference, err = reference.Parse(*repository); err != nil {
			return fmt.Errorf("signedIdentity: dockerRepository %q: %w", *repository, err)
		}
	case RemapIdentity:
		i.Prefix, i.SignedPrefix = *prefix, *signedPrefix
		for _, s := range []string{*prefix, *signedPrefix} {
			// A registry alone, or one with a path, and no tag or digest.
			ref, err := reference.Parse(s + "/x")
			if err != nil || strings.Contains(s, "@") || ref.Name() != s+"/x" {
				return fmt.Errorf("signedIdentity: the prefix %q is not HOST[:PORT][/PATH]", s)
			}
		}
	}
	return nil
}

// accepts returns an error unless a signature with the name text is one of the image that was
// requested.
func (i Identity) accepts(img Image, text string) error {
	signed, err := reference.Parse(text)
	if err != nil {
		return fmt.Errorf("it names %q: %w", text, err)
	}
	if i.matches(img, signed) {
		return nil
	}
	what := ""
	if signed.Identifier() == "" && i.Type != MatchRepository && i.Type != ExactRepository {
		what = ", without a tag or digest, as cosign signs; signedIdentity matchRepository accepts that"
	}
	return fmt.Errorf("it names %q%s; the policy requires %s", text, what, i.wanted(img))
}

func (i Identity) matches(img Image, signed reference.Reference) bool {
	if img.Layout != "" && i.Type != ExactReference && i.Type != ExactRepository {
		return false // an image in a folder has no name
	}
	intended := requested(img.Reference)
	switch i.Type {
	case MatchExact:
		return signed.Identifier() != "" && signed == intended
	case MatchRepository:
		return signed.Name() == intended.Name()
	case ExactReference:
		return signed.Identifier() != "" && signed == i.reference
	case ExactRepository:
		return signed.Name() == i.reference.Name()
	case RemapIdentity:
		var ok bool
		if intended, ok = i.remap(intended); !ok {
			return false
		}
	}
	switch { // MatchRepoDigestOrExact
	case signed.Identifier() == "":
		return false
	case intended.Tag != "":
		return signed == intended
	}
	return signed.Name() == intended.Name()
}

// remap replaces the prefix in a name that begins with it.
func (i Identity) remap(ref reference.Reference) (reference.Reference, bool) {
	rest, ok := strings.CutPrefix(ref.Name(), i.Prefix)
	if !ok || rest != "" && rest[0] != '/' {
		return ref, true
	}
	remapped, err := reference.Parse(i.SignedPrefix + rest)
	if err != nil || remapped.Name() != i.SignedPrefix+rest {
		return ref, false
	}
	remapped.Tag, remapped.Digest = ref.Tag, ref.Digest
	return remapped, true
}

// acceptsUnnamed reports whether a signature that names only the digest is one of the image: it was
// requested by its digest, and no other name is wanted.
func (i Identity) acceptsUnnamed(img Image) bool {
	return img.Layout == "" && img.Reference.Digest != "" && (i.Type == MatchRepoDigestOrExact || i.Type == MatchRepository)
}

// wanted describes the names that are accepted.
func (i Identity) wanted(img Image) string {
	intended := requested(img.Reference)
	switch i.Type {
	case ExactReference, ExactRepository:
		return i.Name
	case MatchRepository:
		return intended.Name()
	case RemapIdentity:
		if remapped, ok := i.remap(intended); ok {
			intended = remapped
		}
	}
	if intended.Digest != "" && i.Type != MatchExact {
		return intended.Name() + " with any tag or digest"
	}
	return intended.String()
}
