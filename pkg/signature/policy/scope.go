package policy

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Scopes returns the scopes that match an image in a registry, the most specific one first: the image
// with its digest or else its tag, the repository, each namespace, the registry, and its parent domains
// as "*.DOMAIN". A port belongs to the registry, but not to the domains.
func Scopes(ref reference.Reference) []string {
	all := []string{requested(ref).String()}
	name := ref.Name()
	for {
		all = append(all, name)
		at := strings.LastIndexByte(name, '/')
		if at < 0 {
			break
		}
		name = name[:at]
	}
	host, _, _ := strings.Cut(name, ":")
	for {
		_, domain, more := strings.Cut(host, ".")
		if !more {
			return all
		}
		all, host = append(all, "*."+domain), domain
	}
}

// requested returns a reference as it decides which image is pulled: a digest makes a tag irrelevant,
// and without either, the tag is "latest".
func requested(ref reference.Reference) reference.Reference {
	switch {
	case ref.Digest != "":
		ref.Tag = ""
	case ref.Tag == "":
		ref.Tag = "latest"
	}
	return ref
}
