// Package remote talks to registries over HTTP (the OCI distribution
// specification, v1.1).
//
// A Client serves one side of a run, the source or the destination, and
// everything on that side: catalogs, graphs, images, copies. References go in
// as the user knows them ("quay.io/org/name"); the Client finds out where they
// are to be had (registries.conf), how the place is reached (TLS, plain http,
// proxy) and what it wants to see (Basic, Bearer, client certificates). Each
// host is probed once, each token is fetched once for its host and scope, and
// connections are kept for every worker.
//
// Bytes that come in are limited and hashed: a manifest or blob whose length or
// digest is not what was asked for never ends with io.EOF.
//
// What lies beside registries (update graphs, signatures) is read by [Client.Get],
// in the same way and without credentials.
//
// This is the only layer of the program that tries again: 408, 429, 5xx,
// connections that break and bodies that are cut short, after the time that
// the registry asks for (Retry-After, at most five minutes) or else a growing
// one. A blob continues where it broke off. Authentication failures and content
// that is not there are told at once, as *Error with a hint on what to do.
package remote

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gantry-mirror/gantry/pkg/keychain"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
	"github.com/gantry-mirror/gantry/pkg/remote/registries"
)

// A Keychain finds the credential for a repository path at a host; the zero
// Credential means anonymous. *keychain.Keychain is one.
type Keychain interface {
	Credential(ctx context.Context, host, path string) (keychain.Credential, error)
}

// A Side says which end of a copy a Client serves.
type Side string

// The sides are called as in the flags that hints name: --src-tls-verify,
// --dest-tls-verify, and --tls-verify where there is one side only. Source
// reads through mirrors and locations of registries.conf; Destination and Alone
// use references as they are written.
const (
	Source      Side = "src"
	Destination Side = "dest"
	Alone       Side = "alone"
)

// flag is what a flag of the side is called: "--src-tls-verify".
func (s Side) flag(name string) string {
	if s == Alone {
		return "--" + name
	}
	return "--" + string(s) + "-" + name
}

// Options describe a Client. The zero value reads anonymously from registries
// that speak TLS with certificates that the system trusts.
type Options struct {
	Side       Side               // "" means Source
	Keychain   Keychain           // nil means anonymous
	Registries *registries.Config // nil means that nothing is rewritten

	// CertDir holds certificates for every host (--cert-dir): *.crt are CAs,
	// *.cert with *.key client certificates. "" means none.
	CertDir string
	// CertDirs hold such folders for single hosts, named HOST[:PORT]. nil means
	// ~/.config/containers/certs.d, /etc/containers/certs.d and
	// /etc/docker/certs.d.
	CertDirs []string
	// SkipVerify accepts any certificate, and plain http where a host does not
	// speak TLS.
	SkipVerify bool
	// PlainHTTP speaks http without trying TLS.
	PlainHTTP bool
	// Proxy finds the proxy of a request; nil means http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)

	Retry Retry
	// OnRetry, where set, is told of each further attempt before the wait for
	// it. It is called from several goroutines.
	OnRetry func(Again)
	// Streams is how many requests may be under way at one host; 0 means 64, or
	// what Limits say. How many there are follows the host: as many as make it
	// faster, fewer where it answers 429 or 503 or they wait for each other.
	Streams int
	// Rate limits the bodies that are received from all hosts together, and
	// those that are sent; 0 means no limit. Those of attempts that failed
	// count.
	Rate limits.Rate
	// Limits are those of single hosts, beside the ones above; nil means none.
	Limits *limits.Limits
	// IdleTimeout ends a request on which no byte moved; 0 means one minute.
	// After the last byte of an upload a registry has five times as long.
	IdleTimeout time.Duration

	Log       *slog.Logger // nil means none
	UserAgent string       // "" means "gantry"
	Clock     Clock        // nil means the system's
}

// A Client reads from and writes to registries. It is safe for concurrent use.
type Client struct {
	o     Options
	stats counters
	// sessions, where set, is told of upload sessions.
	sessions SessionLog
	// The limits of what is received from all hosts and sent to them.
	in, out buckets

	mu         sync.Mutex
	hosts      map[place]*host
	transports map[place]*http.Transport
	preferred  map[string]int // repository -> which of its sources answered
}

// A place is a host and how it is trusted; registries.conf can name the same
// host once as insecure and once not.
type place struct {
	host     string
	insecure bool
}

// New makes a Client. It fails when options contradict each other or --cert-dir
// cannot be read; no request is made.
func New(o Options) (*Client, error) {
	if o.Side == "" {
		o.Side = Source
	}
	if o.CertDir != "" {
		if _, err := readCerts(o.CertDir, true); err != nil {
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
		o.Proxy = http.ProxyFromEnvironment
	}
	findProxy := o.Proxy
	o.Proxy = func(r *http.Request) (*url.URL, error) {
		u, err := findProxy(r)
		if err != nil {
			// The cause shows the address with the proxy's password.
			return nil, errors.New("the proxy's address in HTTPS_PROXY or HTTP_PROXY is malformed")
		}
		return u, nil
	}
	if o.Streams < 0 || o.Rate < 0 || o.IdleTimeout < 0 || o.Retry.Delay < 0 {
		return nil, errors.New("limits and times must not be negative")
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.UserAgent == "" {
		o.UserAgent = "gantry"
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	return &Client{
		o:          o,
		in:         buckets{}.with(newBucket(o.Rate)),
		out:        buckets{}.with(newBucket(o.Rate)),
		hosts:      map[place]*host{},
		transports: map[place]*http.Transport{},
		preferred:  map[string]int{},
	}, nil
}

// Close closes the connections that are kept for further requests.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// host returns the state kept for a host, the same for the whole run.
func (c *Client) host(name string, insecure bool) (*host, error) {
	insecure = insecure || c.o.SkipVerify
	c.mu.Lock()
	defer c.mu.Unlock()
	key := place{name, insecure}
	if h := c.hosts[key]; h != nil {
		return h, nil
	}
	addr := name
	if addr == "docker.io" {
		addr = "registry-1.docker.io"
	}
	if _, err := c.transportLocked(name, insecure); err != nil {
		return nil, err
	}
	limit := c.o.Limits.For(name)
	h := &host{
		c: c, name: name, addr: addr, insecure: insecure,
		streams:    newStreams(c.width(name)),
		in:         c.in.with(newBucket(limit.Rate)),
		out:        c.out.with(newBucket(limit.Rate)),
		gate:       newGate(),
		tokens:     map[string][]token{},
		tokenGates: map[string]gate{},
		proofs:     map[keychain.Credential]*proof{},
	}
	if limit.RequestsPerSecond > 0 {
		h.requests = rate.NewLimiter(rate.Limit(limit.RequestsPerSecond), burst(limit.RequestsPerSecond))
	}
	c.hosts[key] = h
	return h, nil
}

// width is how many requests may be under way at a host.
func (c *Client) width(name string) int {
	own := c.o.Limits.For(name).Streams
	if own > 0 && c.o.Streams > 0 {
		return min(own, c.o.Streams)
	}
	return cmp.Or(own, c.o.Streams, MostStreams)
}
