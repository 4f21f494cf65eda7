// Package release defines the names that platform releases use: products, architectures, channels,
// versions and tags. The packages of pkg/platform read update graphs, payloads and graph data; these
// names are all that they share.
//
// An architecture has two names. Go and update services call it "amd64"; tags, CoreOS streams and
// Linux call it "x86_64". An Arch holds the first, Arch.Suffix returns the second.
package release

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
)

// A Product is a distribution of the platform. Each has its own update service, signature stores
// and signing keys.
type Product string

// The products, as in mirror.platform.channels[].type.
const (
	OCP Product = "ocp"
	OKD Product = "okd"
)

// ErrUnsigned means that no signature store has a signature of an image.
var ErrUnsigned = errors.New("no signature found")

// SignaturePath returns the path of signature number n, from 1, of an image in a signature store:
// sha256=<hex>/signature-n.
func SignaturePath(d digest.Digest, n int) string {
	return d.Algorithm().String() + "=" + d.Encoded() + "/signature-" + strconv.Itoa(n)
}

// An Arch is the architecture of a payload, by the name that Go and update services use.
type Arch string

// Multi is the payload for all architectures.
const Multi Arch = "multi"

// DefaultArch is the architecture of a configuration that names none.
const DefaultArch Arch = "amd64"

type archName struct {
	arch   Arch
	suffix string
}

// arches are the architectures that payloads are built for, with their names in tags, CoreOS
// streams and Linux.
var arches = [...]archName{
	{"amd64", "x86_64"},
	{"arm64", "aarch64"},
	{"ppc64le", "ppc64le"},
	{"s390x", "s390x"},
	{Multi, "multi"},
}

// Arches returns the architectures of payloads, multi last.
func Arches() []Arch {
	out := make([]Arch, len(arches))
	for i, a := range arches {
		out[i] = a.arch
	}
	return out
}

// ParseArch parses either name of an architecture: "amd64" or "x86_64". The error suggests a
// similar name.
func ParseArch(s string) (Arch, error) {
	var names []string
	for _, a := range arches {
		if s == string(a.arch) || s == a.suffix {
			return a.arch, nil
		}
		names = append(names, string(a.arch))
	}
	return "", advice.New(advice.Failure, cmp.Or(suggest.Phrase(s, names), "use one of "+strings.Join(names, ", ")), "unknown architecture %q", s)
}

// Suffix returns the architecture as tags spell it: "x86_64" for amd64.
func (a Arch) Suffix() string {
	i := slices.IndexFunc(arches[:], func(n archName) bool { return n.arch == a })
	if i < 0 {
		return string(a)
	}
	return arches[i].suffix
}

// channel is the grammar of channel names (openshift/cincinnati, policy-engine).
var channel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-z.-]{1,253}$`) })

// IsChannel reports whether update services accept s as the name of a channel, such as
// "stable-4.20".
func IsChannel(s string) bool { return channel().MatchString(s) }

// Name returns the name of a release, which is also its tag: "4.20.5-x86_64".
func Name(version string, arch Arch) string { return version + "-" + arch.Suffix() }
