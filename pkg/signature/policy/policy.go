// Package policy decides by a policy.json whether an image is accepted.
//
// The format and the rules are those of containers-policy.json(5), which podman, skopeo, CRI-O and oc
// mirror apply. A policy has requirements for scopes: a single image, a repository, a namespace, a
// registry, or the subdomains of a domain ("*.example.com"). Of all scopes that match an image, the most
// specific one decides alone. All of its requirements must be satisfied. A requirement accepts or
// rejects everything, or asks for one valid signature: one made with OpenPGP (signedBy), or one of
// sigstore (sigstoreSigned). A signature names an image, and signedIdentity says which names are
// accepted.
//
// Images are judged by the name that clusters request, which is the original one even if they are
// pulled from a mirror. One manifest is judged at a time, as on nodes. The package reads no registry:
// a Finder returns the signatures that exist.
//
// Gantry also accepts sigstore bundles (artifacts that refer to the image). They usually name only a
// digest, so they are accepted for images that are requested by that digest.
package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// MaxSize is the largest policy.json in bytes.
const MaxSize = 1 << 20

// The transports that images of Gantry have.
const (
	Docker = "docker" // images in registries
	OCI    = "oci"    // images in OCI layouts
)

// A Policy says which images are accepted. It does not change once parsed.
type Policy struct {
	// Name is the name of the file, for messages.
	Name string
	// Digest identifies the file and all keys that it names.
	Digest digest.Digest

	fallback   []*Requirement
	transports map[string]map[string][]*Requirement
}

// A ReadFile reads a key or certificate that a policy names. The error of a missing file matches
// fs.ErrNotExist.
type ReadFile func(name string) ([]byte, error)

// Parse parses a policy.json. Unknown and repeated members and unknown types are errors with the line.
// Keys are read with read; a key that cannot be read is an error only for images that need it, because
// policies of a distribution may name keys that are not installed.
func Parse(name string, text []byte, read ReadFile) (*Policy, error) {
	if len(text) > MaxSize {
		return nil, advice.New(advice.Input, "", "%s: more than %d bytes", name, MaxSize)
	}
	var file struct {
		Default    []jsontext.Value                       `json:"default"`
		Transports map[string]map[string][]jsontext.Value `json:"transports"`
	}
	if err := jsonv2.Unmarshal(text, &file, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, located(name, text, err)
	}
	p := &Policy{Name: name, transports: map[string]map[string][]*Requirement{}}
	sum := digest.SHA256.Digester()
	_, _ = sum.Hash().Write(text)
	all := &parser{read: read, sum: sum.Hash()}
	var err error
	if p.fallback, err = all.requirements(file.Default); err != nil {
		return nil, within(name, text, "default", err)
	}
	for _, transport := range slices.Sorted(maps.Keys(file.Transports)) {
		p.transports[transport] = map[string][]*Requirement{}
		for _, scope := range slices.Sorted(maps.Keys(file.Transports[transport])) {
			where := fmt.Sprintf("transports, %s, %q", transport, scope)
			if transport == Docker {
				err = checkScope(scope)
			}
			if err == nil {
				p.transports[transport][scope], err = all.requirements(file.Transports[transport][scope])
			}
			if err != nil {
				return nil, within(name, text, where, err)
			}
		}
	}
	p.Digest = sum.Digest()
	return p, nil
}

// checkScope refuses scopes that no image has, so that a misspelled one does not leave images to a more
// general scope.
func checkScope(scope string) error {
	switch rest, wildcard := strings.CutPrefix(scope, "*."); {
	case wildcard && (rest == "" || strings.ContainsAny(rest, "*/:@")), !wildcard && strings.Contains(scope, "*"):
		return errors.New("a wildcard is only possible as *.DOMAIN, without a port or path")
	case strings.Contains(scope, "://"):
		return errors.New("a scope has no scheme; write HOST[:PORT][/PATH]")
	case strings.HasSuffix(scope, "/"):
		return errors.New("a scope does not end with a slash")
	}
	return nil
}

// located adds the line to an error of the JSON decoder.
func located(name string, text []byte, err error) error {
	offset := int64(-1)
	var semantic *jsonv2.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
	case errors.As(err, &syntactic):
		offset = syntactic.ByteOffset
	case errors.Is(err, io.ErrUnexpectedEOF):
		offset = int64(len(text))
	}
	if offset < 0 || offset > int64(len(text)) {
		return advice.New(advice.Input, "", "%s: %w", name, err)
	}
	line := 1 + bytes.Count(text[:offset], []byte("\n"))
	return advice.New(advice.Input, "", "%s:%d: %w", name, line, err)
}

// within says in which part of the policy an error is.
func within(name string, text []byte, where string, err error) error {
	if bad, ok := errors.AsType[*badValueError](err); ok {
		if at := bytes.Index(text, bad.text); at >= 0 {
			line := 1 + bytes.Count(text[:at], []byte("\n"))
			return advice.New(advice.Input, "", "%s:%d: %s: %w", name, line, where, err)
		}
	}
	return advice.New(advice.Input, "", "%s: %s: %w", name, where, err)
}

// A badValueError is an error about a requirement, whose text finds the line.
type badValueError struct {
	text []byte
	err  error
}

func (e *badValueError) Error() string { return e.err.Error() }
func (e *badValueError) Unwrap() error { return e.err }

// requirements returns the requirements for an image, and the scope that they are from, for messages:
// "docker:quay.io/org" or "default".
func (p *Policy) requirements(img Image) (requirements []*Requirement, scope string) {
	transport, names := img.scopes()
	scopes, ok := p.transports[transport]
	if ok {
		for _, name := range names {
			if found, ok := scopes[name]; ok {
				return found, transport + ":" + name
			}
		}
		if found, ok := scopes[""]; ok {
			return found, transport + ":"
		}
	}
	return p.fallback, "default"
}

// scopes returns the transport of an image and the scopes that match it, the most specific one first.
func (i Image) scopes() (transport string, names []string) {
	if i.Layout != "" {
		for dir := filepath.ToSlash(i.Layout); dir != "/" && dir != "." && dir != ""; dir = parent(dir) {
			names = append(names, dir)
		}
		return OCI, names
	}
	return Docker, Scopes(i.Reference)
}

func parent(dir string) string {
	at := strings.LastIndexByte(dir, '/')
	if at <= 0 {
		return "/"
	}
	return dir[:at]
}
