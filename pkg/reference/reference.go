// Package reference parses image references.
//
// A Reference names content in a registry: the host, the repository path below it, and a tag, a
// digest or both. The grammar is the one of the distribution project, in the package
// github.com/distribution/reference. OLM's validator uses that package, so Gantry accepts the same
// references in a catalog as a cluster. Tests compare the two. References are values. They can be
// compared with == and used as map keys.
//
// Docker's short names are expanded: "centos" is "docker.io/library/centos". IsShort reports
// whether Parse would expand a string.
package reference

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
)

// A Reference is a parsed image reference. Tag and Digest may both be empty (a repository), one may
// be set, or both. If both are set, the digest decides what is pulled.
type Reference struct {
	Host   string // "quay.io", "127.0.0.1:5000"
	Path   string // repository below the host: "org/name"
	Tag    string
	Digest digest.Digest
}

// Parse reads a reference such as "quay.io/org/name:v1@sha256:…". A name without a host is expanded
// like Docker does. A missing tag stays empty: callers decide whether that means "latest" or an
// error. Errors do not show user, password and query of a URL.
func Parse(s string) (Reference, error) {
	if s == "" {
		return Reference{}, errors.New("image reference is empty")
	}
	r, err := parse(s)
	if err != nil {
		if shown := redact.Address(s); shown != s {
			return Reference{}, advice.New(advice.Failure, "remove it; gantry registry login stores credentials",
				"image reference %q contains a user, a password or a query", shown)
		}
		return Reference{}, fmt.Errorf("image reference %q: %w", s, err)
	}
	return r, nil
}

// IsShort reports whether s has no registry host ("ubi9/ubi:latest"), so that Parse assumes
// docker.io.
func IsShort(s string) bool {
	first, _, ok := strings.Cut(s, "/")
	return !ok || !strings.ContainsAny(first, ".:") && first != "localhost"
}

// Name returns host and path: "quay.io/org/name".
func (r Reference) Name() string { return r.Host + "/" + r.Path }

// String returns the full reference; Parse reads it back unchanged.
func (r Reference) String() string {
	s := r.Name()
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest.String()
	}
	return s
}

// Identifier returns what a manifest is requested by: the digest if set, otherwise the tag,
// otherwise "".
func (r Reference) Identifier() string {
	if r.Digest != "" {
		return r.Digest.String()
	}
	return r.Tag
}

// Repository returns r without tag and digest.
func (r Reference) Repository() Reference { return Reference{Host: r.Host, Path: r.Path} }

// WithTag returns r with only a tag.
func (r Reference) WithTag(tag string) Reference {
	return Reference{Host: r.Host, Path: r.Path, Tag: tag}
}

// WithDigest returns r with only a digest.
func (r Reference) WithDigest(d digest.Digest) Reference {
	return Reference{Host: r.Host, Path: r.Path, Digest: d}
}

// ShortHash returns 8 hex digits that identify s, usually a reference, for names that have to be
// unique and short.
func ShortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
