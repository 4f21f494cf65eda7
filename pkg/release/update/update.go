// Package update asks update services (Cincinnati) for the update graphs of
// channels.
//
// One question is asked for each channel and architecture. Neither the version
// of a cluster nor an identifier is sent: the answer does not depend on them. What
// comes back is checked as the graph it is, and as that of the channel: services
// answer 200 with an empty graph for a channel that does not exist, proxies with
// a page to log in, and a file in a service's place with whatever it holds.
//
// How addresses are reached, and when they are asked again, is known to the
// Getter.
package update

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// A Getter reads what is at an address, of at most limit bytes, asked for with an
// Accept header. Its errors wrap fs.ErrNotExist where nothing is there, and say
// what to do.
type Getter interface {
	Get(ctx context.Context, address, accept string, limit int64) ([]byte, error)
}

// The update services of the products.
const (
	OCP = "https://api.openshift.com/api/upgrades_info/v1/graph"
	// OKD is a release controller: it answers with all releases of its streams,
	// and the channel decides on the updates between them.
	OKD = "https://origin-release.ci.openshift.org/graph"
)

// Address is where a product's update service is.
func Address(p release.Product) string {
	if p == release.OKD {
		return OKD
	}
	return OCP
}

// accept is the media type that every update service has.
const accept = "application/json"

// A Service is an update service.
type Service struct {
	Product release.Product // "" means OCP
	// URL is its address; "" means that of the product. A query that it has is
	// sent, too.
	URL string
	Get Getter
	// Channels are names of channels, as far as some are known, to suggest one in
	// place of a name that does not exist.
	Channels []string
}

// Provenance is where a graph comes from.
type Provenance struct {
	// URL is the question, without credentials and without what the query of
	// the service's own address holds.
	URL    string
	SHA256 string // of the answer, in hexadecimal
}

// An UnknownChannelError is the answer of a service that has no release in a
// channel for an architecture.
type UnknownChannelError struct {
	Channel  string
	Arch     release.Arch
	URL      string   // where it was asked for
	Channels []string // what may have been meant
}

// Error implements error.
func (e *UnknownChannelError) Error() string {
	s := fmt.Sprintf("channel %s has no releases for %s at %s: it does not exist, or not for that architecture", e.Channel, e.Arch, e.URL)
	others := slices.DeleteFunc(slices.Clone(e.Channels), func(c string) bool { return c == e.Channel })
	if p := suggest.Phrase(e.Channel, others); p != "" {
		return s + "; " + p
	}
	return s + "; check its name"
}

// Graph asks for the graph of a channel for one architecture. A channel without
// releases is an *UnknownChannelError, what cannot be asked a *QuestionError.
func (s *Service) Graph(ctx context.Context, channel string, arch release.Arch) (*graph.Graph, Provenance, error) {
	ask, from, err := s.question(channel, arch)
	if err != nil {
		return nil, from, fmt.Errorf("asking for the update graph of channel %.60q: %w", channel, err)
	}
	body, err := s.Get.Get(ctx, ask, accept, graph.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, from, fmt.Errorf("asking for the update graph of channel %s for %s: %w; there is no update service at %s: check its address", channel, arch, err, from.URL)
	case err != nil:
		return nil, from, fmt.Errorf("asking for the update graph of channel %s for %s: %w", channel, arch, err)
	}
	sum := sha256.Sum256(body)
	from.SHA256 = hex.EncodeToString(sum[:])
	g, err := graph.Read(bytes.NewReader(body))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w; run again, and if it stays so have the service, or the proxy on the way, looked at", err)
	case err != nil:
		err = fmt.Errorf("%w; check that this is the address of an update service, and whether a proxy on the way answers in its place", err)
	case len(g.Nodes) == 0:
		return nil, from, &UnknownChannelError{Channel: channel, Arch: arch, URL: from.URL, Channels: s.Channels}
	default:
		err = check(g, channel, arch)
	}
	if err != nil {
		return nil, from, fmt.Errorf("the answer of %s: %w", from.URL, err)
	}
	return g, from, nil
}

// A QuestionError says why something was not asked: there can be no such channel,
// architecture or service.
type QuestionError struct{ err error }

func (e *QuestionError) Error() string { return e.err.Error() }
func (e *QuestionError) Unwrap() error { return e.err }

func refuse(format string, args ...any) error { return &QuestionError{fmt.Errorf(format, args...)} }

// question is the address that asks for a graph, and how it is shown.
func (s *Service) question(channel string, arch release.Arch) (string, Provenance, error) {
	if !release.IsChannel(channel) {
		return "", Provenance{}, refuse("it is no name of a channel: those consist of lower-case letters, digits, dots and hyphens, such as stable-4.20")
	}
	if !slices.Contains(release.Arches(), arch) {
		if _, err := release.ParseArch(string(arch)); err != nil {
			return "", Provenance{}, &QuestionError{err}
		}
		return "", Provenance{}, refuse("update services have another name for the architecture %s", arch)
	}
	address := s.URL
	if address == "" {
		address = Address(s.Product)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", Provenance{}, refuse("the address of the update service is malformed: give one as https://HOST/PATH") // the cause shows it
	}
	own := url.Values{"arch": {string(arch)}}
	if s.Product != release.OKD || controlled(channel) {
		own.Set("channel", channel)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", Provenance{}, refuse("the query in the address of the update service at %s is malformed", u.Host)
	}
	for name := range own {
		query.Set(name, own.Get(name))
	}
	u.RawQuery, u.Fragment = query.Encode(), ""
	ask := u.String()
	u.RawQuery, u.User = own.Encode(), nil
	return ask, Provenance{URL: u.String()}, nil
}

// controlled reports whether release controllers know the channel. They refuse
// others, such as 4-stable, which configurations of OKD have: those mean all its
// updates that were tried with success (openshift/release-controller,
// graphHandler).
func controlled(channel string) bool {
	kind, _, _ := strings.Cut(channel, "-")
	return slices.Contains([]string{"stable", "next", "prerelease", "nightly"}, kind)
}

// check makes sure that a graph is that of the channel and the architecture, as
// far as its releases tell.
func check(g *graph.Graph, channel string, arch release.Arch) error {
	for _, n := range g.Nodes {
		switch {
		case len(n.Channels) > 0 && !slices.Contains(n.Channels, channel):
			return fmt.Errorf("it holds %s, which is not in channel %s but in %s; what answers there does not look at the channel: check the address of the update service", n.Version, channel, strings.Join(n.Channels, ", "))
		case n.Arch == release.Multi && arch != release.Multi:
			return fmt.Errorf("it holds %s for all architectures, and %s was asked for; what answers there does not look at the architecture: check the address of the update service", n.Version, arch)
		}
	}
	return nil
}
