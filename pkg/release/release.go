// Package release holds the names that platform releases have: products,
// architectures, versions and tags. The packages below it read update graphs,
// payloads and graph data; they share these words and nothing else.
package release

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// A Product is a distribution of the platform. Each has its own update service,
// signature stores and signing keys.
type Product string

// The products, as mirror.platform.channels[].type has them.
const (
	OCP Product = "ocp"
	OKD Product = "okd"
)

// ErrUnsigned says that every store of signatures was asked for an image and has none.
var ErrUnsigned = errors.New("there is no signature")

// An Arch is the architecture of a payload: the name that Go and update services
// give it.
type Arch string

// Multi is the payload that holds all architectures.
const Multi Arch = "multi"

// DefaultArch is the architecture of those who name none.
const DefaultArch Arch = "amd64"

type named struct {
	arch   Arch
	suffix string
}

// arches are the architectures that payloads are made for, with the names that
// tags, CoreOS streams and Linux have for them.
var arches = [...]named{
	{"amd64", "x86_64"},
	{"arm64", "aarch64"},
	{"ppc64le", "ppc64le"},
	{"s390x", "s390x"},
	{Multi, "multi"},
}

// Arches are the architectures of payloads, multi last.
func Arches() []Arch {
	out := make([]Arch, len(arches))
	for i, a := range arches {
		out[i] = a.arch
	}
	return out
}

// ParseArch reads an architecture by either of its names: "amd64", "x86_64".
func ParseArch(s string) (Arch, error) {
	var names []string
	for _, a := range arches {
		if s == string(a.arch) || s == a.suffix {
			return a.arch, nil
		}
		names = append(names, string(a.arch))
	}
	err := fmt.Errorf("%q is no architecture of releases", s)
	if p := suggest.Phrase(s, names); p != "" {
		return "", fmt.Errorf("%w; %s", err, p)
	}
	return "", err
}

// Suffix is the architecture as tags have it: "x86_64" for amd64.
func (a Arch) Suffix() string {
	i := slices.IndexFunc(arches[:], func(n named) bool { return n.arch == a })
	if i < 0 {
		return string(a)
	}
	return arches[i].suffix
}

// channel is the grammar of channels (openshift/cincinnati, policy-engine).
var channel = regexp.MustCompile(`^[0-9a-z.-]{1,253}$`)

// IsChannel reports whether services take s for a channel, such as "stable-4.20".
func IsChannel(s string) bool { return channel.MatchString(s) }

// Name is what a release is called, and its tag: "4.20.5-x86_64".
func Name(version string, arch Arch) string { return version + "-" + arch.Suffix() }
