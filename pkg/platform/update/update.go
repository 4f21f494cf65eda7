// Package update queries update services (Cincinnati) for the update graphs of channels.
//
// Each channel and architecture takes one query. It contains neither the version of a cluster nor
// an identifier, because the response does not depend on them. The response is parsed and checked
// as a graph, and as the graph of the requested channel: services return 200 with an empty graph
// for a channel that does not exist, proxies return a login page, and a static file in place of a
// service contains whatever was put there.
//
// Connections, credentials and retries are the Getter's task.
package update

import (
	"bytes"
	"cmp"
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

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Getter downloads an address with an Accept header and returns at most limit bytes. If the
// address does not exist, the error matches fs.ErrNotExist.
type Getter interface {
	Get(ctx context.Context, address, accept string, limit int64) ([]byte, error)
}

// The update services of the products.
const (
	ocp = "https://api.openshift.com/api/upgrades_info/v1/graph"
	// okd is a release controller: it returns all releases of its streams, and the channel selects
	// the updates between them.
	okd = "https://origin-release.ci.openshift.org/graph"
)

// Address returns the address of a product's update service.
func Address(p release.Product) string {
	if p == release.OKD {
		return okd
	}
	return ocp
}

// accept is the media type of every update service.
const accept = "application/json"

// A Service is an update service.
type Service struct {
	Product release.Product // "" means the one of OpenShift
	// URL is its address; empty means the product's. Its query, if any, is sent as well.
	URL string
	Get Getter
	// Channels are known channel names. If a channel does not exist, the error suggests a similar
	// one of them.
	Channels []string
}

// Provenance says where a graph comes from.
type Provenance struct {
	// URL is the query, without credentials and without the query of the service's own address.
	URL    string
	SHA256 string // of the answer, in hexadecimal
}

// An UnknownChannelError means that a service has no release in a channel for an architecture.
type UnknownChannelError struct {
	Channel  string
	Arch     release.Arch
	URL      string   // that was requested
	Channels []string // what may have been meant
}

// Error implements error.
func (e *UnknownChannelError) Error() string {
	return fmt.Sprintf("channel %s has no releases for %s at %s: it does not exist, or not for that architecture", e.Channel, e.Arch, e.URL)
}

// Advice implements advice.Adviser.
func (e *UnknownChannelError) Advice() (advice.Kind, string) {
	others := slices.DeleteFunc(slices.Clone(e.Channels), func(c string) bool { return c == e.Channel })
	return advice.Input, cmp.Or(suggest.Phrase(e.Channel, others), "check its name")
}

// Graph downloads the graph of a channel for one architecture. A channel without releases is an
// *UnknownChannelError. A channel, architecture or address that cannot exist is an error of kind
// advice.Input, and no request is made.
func (s *Service) Graph(ctx context.Context, channel string, arch release.Arch) (*graph.Graph, Provenance, error) {
	address, from, err := s.query(channel, arch)
	if err != nil {
		return nil, from, fmt.Errorf("reading the update graph of channel %.60q: %w", channel, err)
	}
	body, err := s.Get.Get(ctx, address, accept, graph.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, from, advice.New(advice.Failure, "check the address of the update service", "reading the update graph of channel %s for %s: there is no update service at %s: %w", channel, arch, from.URL, err)
	case err != nil:
		return nil, from, fmt.Errorf("reading the update graph of channel %s for %s: %w", channel, arch, err)
	}
	sum := sha256.Sum256(body)
	from.SHA256 = hex.EncodeToString(sum[:])
	g, err := graph.Read(bytes.NewReader(body))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = advice.Wrap(advice.Failure, err, "run again; if that does not help, check the service and any proxy in between")
	case err != nil:
		err = advice.Wrap(advice.Failure, err, "check that this is the address of an update service, and that no proxy responds in its place")
	case len(g.Nodes) == 0:
		return nil, from, &UnknownChannelError{Channel: channel, Arch: arch, URL: from.URL, Channels: s.Channels}
	default:
		err = check(g, channel, arch)
	}
	if err != nil {
		return nil, from, fmt.Errorf("reading the response of %s: %w", from.URL, err)
	}
	return g, from, nil
}

// query returns the address that requests a graph, and the address as it may be shown.
func (s *Service) query(channel string, arch release.Arch) (string, Provenance, error) {
	if !release.IsChannel(channel) {
		return "", Provenance{}, advice.New(advice.Input, "use lower-case letters, digits, dots and hyphens, as in stable-4.20", "invalid channel name")
	}
	if !slices.Contains(release.Arches(), arch) {
		if _, err := release.ParseArch(string(arch)); err != nil {
			return "", Provenance{}, advice.Wrap(advice.Input, err, "")
		}
		return "", Provenance{}, advice.New(advice.Input, "use one of "+archNames(), "update services do not know the architecture %q", arch)
	}
	address := cmp.Or(s.URL, Address(s.Product))
	u, err := url.Parse(address)
	if err != nil {
		return "", Provenance{}, advice.New(advice.Input, "write it as https://HOST/PATH", "the address of the update service is malformed") // the cause would show credentials
	}
	own := url.Values{"arch": {string(arch)}}
	if s.Product != release.OKD || hasChannel(channel) {
		own.Set("channel", channel)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", Provenance{}, advice.New(advice.Input, "fix the part after the question mark", "the query in the address of the update service at %s is malformed", u.Host)
	}
	for name := range own {
		query.Set(name, own.Get(name))
	}
	u.RawQuery, u.Fragment = query.Encode(), ""
	address = u.String()
	u.RawQuery, u.User = own.Encode(), nil
	return address, Provenance{URL: u.String()}, nil
}

// archNames lists the architectures for people.
func archNames() string {
	names := elements.Map(release.Arches(), func(a release.Arch) string { return string(a) })
	return strings.Join(names, ", ")
}

// hasChannel reports whether release controllers know the channel. They refuse others, such as
// 4-stable, which OKD configurations use: those mean all updates that were tested successfully
// (openshift/release-controller, graphHandler).
func hasChannel(channel string) bool {
	kind, _, _ := strings.Cut(channel, "-")
	return slices.Contains([]string{"stable", "next", "prerelease", "nightly"}, kind)
}

// check returns an error if a graph does not belong to the channel and the architecture, as far as its
// releases show it.
func check(g *graph.Graph, channel string, arch release.Arch) error {
	for _, n := range g.Nodes {
		switch {
		case len(n.Channels) > 0 && !slices.Contains(n.Channels, channel):
			return advice.New(advice.Failure, "check the address of the update service: it ignores the channel", "it contains %s, which is not in channel %s but in %s", n.Version, channel, strings.Join(n.Channels, ", "))
		case n.Arch == release.Multi && arch != release.Multi:
			return advice.New(advice.Failure, "check the address of the update service: it ignores the architecture", "it contains %s for all architectures, and %s was requested", n.Version, arch)
		}
	}
	return nil
}
