// Package registries reads registries.conf, which tells podman, skopeo and oc where to read a
// registry's content.
//
// A logical reference ("quay.io/org/name") goes in; the result is the list of endpoints to read it
// from: mirrors first, in the order of the file, then the registry's own location. The entry with
// the longest matching prefix applies. A destination is never rewritten
// (containers-registries.conf(5): "Redirection and mirrors are currently processed only when
// reading images, not when pushing"), but an entry that matches it can block it or make it
// insecure.
//
// The base is one file: $CONTAINERS_REGISTRIES_CONF, else ~/.config/containers/registries.conf,
// else /etc/containers/registries.conf. The *.conf files of registries.conf.d are added in the
// order of their names, and an entry replaces an earlier one with the same prefix. Only format 2 is
// supported ([[registry]] tables); format 1 is an error.
//
// Short names are not completed: unqualified-search-registries and aliases are accepted and
// ignored.
package registries

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// ErrBlocked is wrapped by the error of a reference whose entry has "blocked = true".
var ErrBlocked = errors.New("blocked")

// A Config is the merged content of registries.conf and its drop-ins. The zero Config and nil
// rewrite and block nothing.
type Config struct {
	entries []entry
}

// An Endpoint is where a reference can be read.
type Endpoint struct {
	Reference reference.Reference // the reference at this registry
	Insecure  bool                // certificates are not verified, plain HTTP is accepted
	Mirror    bool                // a mirror, not the registry itself
}

// Sources returns where to read ref from, in the order to be tried; there is at least one. If the
// entry of ref is blocked, its mirrors remain, as in OpenShift's NeverContactSource policy; without
// a usable mirror, the error wraps ErrBlocked.
func (c *Config) Sources(ref reference.Reference) ([]Endpoint, error) {
	return c.endpoints(ref, func(e *entry, m *mirror) bool { return m.serves(ref, e.MirrorByDigestOnly) })
}

// BlobSources is Sources for the blobs of a repository. Every mirror of it may have them, also one that serves
// its images only by digest or only by tag: a blob belongs to images of both kinds, and is compared with its
// digest. Each endpoint is listed once.
func (c *Config) BlobSources(repository reference.Reference) ([]Endpoint, error) {
	list, err := c.endpoints(repository, func(*entry, *mirror) bool { return true })
	var once []Endpoint
	for _, e := range list {
		if !slices.ContainsFunc(once, func(have Endpoint) bool { return have.Reference == e.Reference }) {
			once = append(once, e)
		}
	}
	return once, err
}

// endpoints returns the mirrors of ref for which serves returns true, and then the registry itself.
func (c *Config) endpoints(ref reference.Reference, serves func(*entry, *mirror) bool) ([]Endpoint, error) {
	e, rest := c.find(ref.Name())
	if e == nil {
		return []Endpoint{{Reference: ref}}, nil
	}
	var list []Endpoint
	for i := range e.Mirrors {
		m := &e.Mirrors[i]
		if !serves(e, m) {
			continue
		}
		to, err := rewrite(ref, m.Location, rest)
		if err != nil {
			return nil, fmt.Errorf("%s: the mirror of %q: %w", e.file, e.Prefix, err)
		}
		if own, _ := c.find(to.Name()); own != nil && own != e && own.Blocked {
			continue
		}
		list = append(list, Endpoint{Reference: to, Insecure: m.Insecure, Mirror: true})
	}
	if e.Blocked {
		if len(list) == 0 {
			return nil, e.blocked(ref)
		}
		return list, nil
	}
	to := ref
	if e.Location != "" {
		var err error
		if to, err = rewrite(ref, e.Location, rest); err != nil {
			return nil, fmt.Errorf("%s: the location of %q: %w", e.file, e.Prefix, err)
		}
	}
	return append(list, Endpoint{Reference: to, Insecure: e.Insecure}), nil
}

// Destination returns where to write ref: always under its own name. The error wraps ErrBlocked if
// an entry blocks it.
func (c *Config) Destination(ref reference.Reference) (Endpoint, error) {
	e, _ := c.find(ref.Name())
	switch {
	case e == nil:
		return Endpoint{Reference: ref}, nil
	case e.Blocked:
		return Endpoint{}, e.blocked(ref)
	}
	return Endpoint{Reference: ref, Insecure: e.Insecure}, nil
}

func (e *entry) blocked(ref reference.Reference) error {
	return fmt.Errorf("%s is %w by the entry %q of %s: remove \"blocked = true\" there, or the reference from the configuration",
		ref, ErrBlocked, e.Prefix, e.file)
}

// find returns the entry with the longest prefix of name, and the rest of name after that prefix.
func (c *Config) find(name string) (*entry, string) {
	if c == nil {
		return nil, ""
	}
	var best *entry
	var rest string
	for i := range c.entries {
		e := &c.entries[i]
		n := e.match(name)
		if n < 0 {
			continue
		}
		// Of equal length, a host has precedence over a wildcard.
		if best == nil || len(e.Prefix) > len(best.Prefix) ||
			len(e.Prefix) == len(best.Prefix) && best.wildcard() && !e.wildcard() {
			best, rest = e, name[n:]
		}
	}
	return best, rest
}

// match returns the length of the part of name that the prefix of e covers, or -1.
func (e *entry) match(name string) int {
	n := len(e.Prefix)
	if e.wildcard() {
		host, _, _ := strings.Cut(name, "/")
		host, _, _ = strings.Cut(host, ":")
		if !strings.HasSuffix(host, e.Prefix[1:]) || len(host) < n {
			return -1
		}
		return len(host)
	}
	if !strings.HasPrefix(name, e.Prefix) || len(name) > n && name[n] != '/' {
		return -1
	}
	return n
}

func (e *entry) wildcard() bool { return strings.HasPrefix(e.Prefix, "*.") }

// serves reports whether a mirror may be used for ref.
func (m *mirror) serves(ref reference.Reference, digestOnly bool) bool {
	if digestOnly || m.PullFrom == digestsOnly {
		return ref.Digest != ""
	}
	return m.PullFrom != tagsOnly || ref.Digest == ""
}

// rewrite replaces the prefix before rest by location.
func rewrite(ref reference.Reference, location, rest string) (reference.Reference, error) {
	to, err := reference.Parse(location + rest)
	if err != nil {
		return reference.Reference{}, err
	}
	to.Tag, to.Digest = ref.Tag, ref.Digest
	return to, nil
}
