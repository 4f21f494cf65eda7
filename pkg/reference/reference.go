// Package reference takes image references apart.
//
// A Reference names content in a registry: the host, the repository path
// below it, and a tag, a digest or both. The grammar is that of the
// distribution project (github.com/distribution/reference), which OLM's
// validator uses too, so that what Gantry accepts in a catalog is what a
// cluster accepts. References are values: they are compared with ==, used as
// map keys and changed by copying.
//
// Docker's familiar names are written out: "centos" is
// "docker.io/library/centos". IsShort tells which strings that happened to.
package reference

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	dref "github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
)

// A Reference is an image reference taken apart. Tag and Digest may both be
// empty (a repository), one may be set, or both; where both are set the digest
// decides what is pulled.
type Reference struct {
	Host   string // "quay.io", "127.0.0.1:5000"
	Path   string // repository below the host: "org/name"
	Tag    string
	Digest digest.Digest
}

// Parse reads a reference such as "quay.io/org/name:v1@sha256:…". A name
// without a host is completed as Docker does. A missing tag stays empty:
// callers decide whether that means "latest" or an error.
func Parse(s string) (Reference, error) {
	if s == "" {
		return Reference{}, errors.New("image reference is empty")
	}
	named, err := dref.ParseNormalizedNamed(s)
	if err != nil {
		return Reference{}, fmt.Errorf("image reference %q: %w", s, err)
	}
	r := Reference{Host: dref.Domain(named), Path: dref.Path(named)}
	if t, ok := named.(dref.Tagged); ok {
		r.Tag = t.Tag()
	}
	if d, ok := named.(dref.Digested); ok {
		r.Digest = d.Digest()
		if err := r.Digest.Validate(); err != nil {
			return Reference{}, fmt.Errorf("image reference %q: %w", s, err)
		}
	}
	return r.partOf(s), nil
}

// partOf is r with parts of s for texts, where s writes r out: so that there is
// one text of both.
func (r Reference) partOf(s string) Reference {
	rest, ok := strings.CutPrefix(s, r.Host+"/")
	if !ok || len(rest) < len(r.Path) || rest[:len(r.Path)] != r.Path {
		return r // completed
	}
	of := Reference{Host: s[:len(r.Host)], Path: rest[:len(r.Path)]}
	rest = rest[len(r.Path):]
	if r.Tag != "" {
		of.Tag = rest[1:][:len(r.Tag)]
		rest = rest[1+len(r.Tag):]
	}
	if r.Digest != "" {
		of.Digest = digest.Digest(rest[1:])
	}
	if of != r {
		return r
	}
	return of
}

// IsShort reports whether s leaves the registry host out ("ubi9/ubi:latest"),
// so that Parse has to assume docker.io.
func IsShort(s string) bool {
	first, _, ok := strings.Cut(s, "/")
	return !ok || !strings.ContainsAny(first, ".:") && first != "localhost"
}

// Name is host and path: "quay.io/org/name".
func (r Reference) Name() string { return r.Host + "/" + r.Path }

// String writes the reference out in full; Parse reads it back unchanged.
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

// Identifier is what a registry's manifest endpoint is asked for: the digest
// where there is one, else the tag, else "".
func (r Reference) Identifier() string {
	if r.Digest != "" {
		return r.Digest.String()
	}
	return r.Tag
}

// Repository is r without tag and digest.
func (r Reference) Repository() Reference { return Reference{Host: r.Host, Path: r.Path} }

// WithTag is r by tag alone.
func (r Reference) WithTag(tag string) Reference {
	return Reference{Host: r.Host, Path: r.Path, Tag: tag}
}

// WithDigest is r by digest alone.
func (r Reference) WithDigest(d digest.Digest) Reference {
	return Reference{Host: r.Host, Path: r.Path, Digest: d}
}

// ShortHash is 8 hex digits that stand for s, mostly a reference, where a name
// has to be unique and short.
func ShortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
