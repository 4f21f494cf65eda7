// Package remote is a client of registries over HTTP (OCI distribution specification, v1.1).
//
// A Client serves one side of a run, the source or the destination, and everything on that side:
// catalogs, update graphs, images. References go in as users write them ("quay.io/org/name"); the
// Client finds out where they are (registries.conf), how the host is reached (TLS, plain HTTP,
// proxy) and how to authenticate (Basic, Bearer, client certificates). Each host is probed once,
// each token is fetched once for its host and scope, and connections are shared by all workers.
//
// Received content is limited in size and hashed: a manifest or blob with another length or digest
// than requested never ends with io.EOF.
//
// Servers that are not registries (update graphs, signatures) are read by [Client.Get], in the same
// way and without credentials.
//
// This is the only layer of the program that retries: 408, 429, 5xx, connections that break and
// bodies that are cut short, after the time that the registry asks for (Retry-After, at most five
// minutes) or a growing one. A blob continues where it broke off. Refused credentials and missing
// content are never retried. Such errors are *Error, with a hint on what to do.
package remote

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
)

// A Keychain returns the credential for a repository path at a host; the zero Credential means
// anonymous. *keychain.Keychain is one.
type Keychain interface {
	Credential(ctx context.Context, host, path string) (keychain.Credential, error)
}

// A Side is the end of a copy that a Client serves.
type Side string

// Source reads through the mirrors and locations of registries.conf. Destination and Single use
// references as they are written; Single is the side of a command that talks to one registry.
const (
	Source      Side = "src"
	Destination Side = "dest"
	Single      Side = "alone"
)

// option returns the name that hints use for an option of the side: "Options.Source.PlainHTTP",
// "Options.Destination.PlainHTTP", "Options.PlainHTTP". The fields are those of env.Registries.
func (s Side) option(name string) string {
	switch s {
	case Source:
		name = "Source." + name
	case Destination:
		name = "Destination." + name
	}
	return "Options." + name
}

// Options configure a Client. The zero value reads anonymously from registries with TLS
// certificates that the system trusts.
type Options struct {
	Side       Side               // "" means Source
	Keychain   Keychain           // nil means anonymous
	Registries *registries.Config // nil means none

	// CertDir is a folder with certificates for every host, and with folders like those in CertDirs: *.crt are CAs, *.cert with *.key client
	// certificates. "" means none.
	CertDir string
	// CertDirs contain such folders for single hosts, named HOST[:PORT]. nil means
	// ~/.config/containers/certs.d, /etc/containers/certs.d and /etc/docker/certs.d.
	CertDirs []string
	// Exposed, if set, is called for each key of a client certificate that is used and that other
	// users can read, once for each host.
	Exposed func(keyFile string, info fs.FileInfo)
	// SkipVerify accepts any certificate, and plain HTTP if a host does not support TLS.
	SkipVerify bool
	// PlainHTTP uses plain HTTP without trying TLS.
	PlainHTTP bool
	// Proxy returns the proxy of a request; nil means the proxy of the environment; see
	// ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// Transport, if set, sends all requests in place of connections of the Client. Then CertDir, CertDirs, Proxy
	// and BeforeDial have no effect, and addresses that servers name are not checked: that is up to it.
	Transport http.RoundTripper
	// BeforeDial, if set, is called before each connection, before its name is looked up, with
	// HOST:PORT of the server or its proxy. An error refuses the connection. It is called from
	// several goroutines.
	BeforeDial func(addr string) error

	Retry Retry
	// OnRetry, if set, is called before the wait for each further attempt. It is called from
	// several goroutines.
	OnRetry func(RetryEvent)
	// Streams limits the concurrent requests to one host; 0 means 64, or what Limits say. The
	// actual number adapts to the host: as many as make it faster, fewer if it responds 429 or 503
	// or if requests wait for each other.
	Streams int
	// Rate limits the bytes per second that are received from all hosts together, and those that
	// are sent; 0 means no limit. Failed attempts count.
	Rate limits.Rate
	// Limits apply to single hosts, in addition to the ones above; nil means none.
	Limits *limits.Limits
	Timeouts

	Log       *slog.Logger // nil means none
	UserAgent string       // "" means "gantry"
	Clock     Clock        // nil means the system's
}

// Timeouts say when a request that makes no progress ends.
type Timeouts struct {
	// IdleTimeout ends a request when no data was transferred for this time; 0 means one minute.
	// After the last byte of a blob, a registry has four seconds longer for each MiB of it, at most
	// five times as long; after a manifest, it has SilentTimeout. The request is retried as
	// often as Retry allows, until SilentTimeout.
	IdleTimeout time.Duration
	// SilentTimeout is how long a server may send nothing, to whatever request, while a request and
	// its retries wait for it; 0 means three times IdleTimeout. After that, its requests fail at
	// once for an IdleTimeout. It also limits the retries of a request that is slower than MinRate.
	SilentTimeout time.Duration
	// MinRate is the number of bytes per second below which a request is ended and retried; 0 means
	// no minimum. It is measured over IdleTimeout, counts only the time that the network takes, and
	// is shared by all requests of the Client that wait for the network at that time.
	MinRate limits.Rate
}

// A Client reads from and writes to registries. It is safe for concurrent use.
type Client struct {
	o     Options
	stats counters
	// sessions, if set, records upload sessions.
	sessions SessionLog
	// The limits of what is received from all hosts and sent to them.
	in, out buckets

	dial    dialFunc
	waiting atomic.Int64 // requests that wait for the network with a part of their bodies

	mu        sync.Mutex
	hosts     map[hostKey]*host
	peers     map[peerKey]*peer
	preferred map[string]string // repository -> the repository at the source that responded
}

// A hostKey is a host and how it is trusted: registries.conf can list the same host once as
// insecure and once not.
type hostKey struct {
	host     string
	insecure bool
}

// New returns a Client. Contradictory options, an unreadable CertDir and malformed proxy variables
// are errors. No request is made.
func New(o Options) (*Client, error) {
	o.Side = cmp.Or(o.Side, Source)
	if o.CertDir != "" {
		if _, err := readCerts(o.CertDir, true, nil); err != nil {
			return nil, err
		}
	}
	if o.CertDirs == nil {
		if home, err := os.UserHomeDir(); err == nil {
			o.CertDirs = append(o.CertDirs, filepath.Join(home, ".config", "containers", "certs.d"))
		}
		o.CertDirs = append(o.CertDirs, "/etc/containers/certs.d", "/etc/docker/certs.d")
	}
	if o.Proxy == nil {
		var err error
		if o.Proxy, err = ProxyFromEnvironment(os.Getenv); err != nil {
			return nil, err
		}
	}
	if o.Streams < 0 || o.Rate < 0 || o.MinRate < 0 || o.IdleTimeout < 0 || o.SilentTimeout < 0 || o.Retry.Delay < 0 {
		return nil, errors.New("limits and times must not be negative")
	}
	o.IdleTimeout = cmp.Or(o.IdleTimeout, time.Minute)
	o.SilentTimeout = cmp.Or(o.SilentTimeout, 3*o.IdleTimeout)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.UserAgent = cmp.Or(o.UserAgent, "gantry")
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return &Client{
		o:         o,
		in:        buckets{}.with(newBucket(o.Rate)),
		out:       buckets{}.with(newBucket(o.Rate)),
		dial:      dial,
		hosts:     map[hostKey]*host{},
		peers:     map[peerKey]*peer{},
		preferred: map[string]string{},
	}, nil
}

// Close closes idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		p.transport.CloseIdleConnections()
	}
}

// host returns the state of a host, which is kept for the whole run.
func (c *Client) host(name string, insecure bool) (*host, error) {
	insecure = insecure || c.o.SkipVerify
	c.mu.Lock()
	defer c.mu.Unlock()
	key := hostKey{name, insecure}
	if h := c.hosts[key]; h != nil {
		return h, nil
	}
	if _, err := c.peerLocked(peerKey{hostKey: key}); err != nil {
		return nil, err
	}
	limit := c.o.Limits.For(name)
	h := &host{
		c: c, name: name, addr: dialedName(name), insecure: insecure,
		streams:   newStreams(c.maxStreams(name)),
		in:        c.in.with(newBucket(limit.Rate)),
		out:       c.out.with(newBucket(limit.Rate)),
		probeGate: newGate(), referrersGate: newGate(),
		tokens:      map[string][]token{},
		tokenGates:  map[string]gate{},
		credentials: map[keychain.Credential]*credentialState{},
	}
	if limit.RequestsPerSecond > 0 {
		h.requests = rate.NewLimiter(rate.Limit(limit.RequestsPerSecond), burst(limit.RequestsPerSecond))
	}
	c.hosts[key] = h
	return h, nil
}
