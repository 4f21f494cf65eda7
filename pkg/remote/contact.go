package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A Contact is what one response of a registry shows about how it is reached.
type Contact struct {
	// Reference is what was asked for, at the registry that responded: with Source, registries.conf may name another one.
	Reference reference.Reference
	// Scheme is "https" or "http". Address is what is connected to, which differs from the host of
	// references for Docker Hub, and Proxy the proxy in between, "" for none, without user and password.
	Scheme, Address, Proxy string
	// Authentication is how the registry asks for credentials: "basic", "bearer", or "" for not at all.
	Authentication string
	// TLS is the version, such as "TLS 1.3", and Chain the certificates, the server's first. Both are
	// empty without TLS. Verified reports whether the chain was verified, and TrustedBy is the folder
	// with the CA that it leads to, "" for the CAs of the system.
	TLS       string
	Chain     []*x509.Certificate
	Verified  bool
	TrustedBy string
	// Date is the registry's clock, zero if it sends none, and Received this machine's at that time.
	Date, Received time.Time
	// Limits are the headers about limits of requests, by name.
	Limits map[string]string
}

// limitHeaders are headers with which registries announce limits of requests.
var limitHeaders = []string{"RateLimit-Limit", "RateLimit-Remaining", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Retry-After"}

// Contact connects to where ref is read from, or written to, as every request does, and returns what the response
// shows. No credential is sent. Without tag and digest, ref is any content of its repository.
func (c *Client) Contact(ctx context.Context, ref reference.Reference) (out *Contact, err error) {
	err = c.reach(ctx, ref, func(ctx context.Context, at hostRef) error {
		out, err = c.contact(ctx, at)
		return err
	})
	return out, err
}

// reach calls f for each endpoint of ref until one succeeds.
func (c *Client) reach(ctx context.Context, ref reference.Reference, f func(context.Context, hostRef) error) error {
	list, err := c.sources(ref, ref.Identifier() == "")
	if err != nil {
		return err
	}
	return c.readFrom(ctx, ref, list, false, f)
}

func (c *Client) contact(ctx context.Context, at hostRef) (*Contact, error) {
	h := at.h
	if err := h.probe(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	out := &Contact{Reference: at.ref, Scheme: h.scheme, Address: h.addr, Authentication: h.challenge.scheme, Limits: map[string]string{}}
	h.mu.Unlock()
	r := &request{op: "requesting the registry API", kind: "ping", method: http.MethodGet, url: h.base() + "/v2/"}
	if err := h.admit(ctx); err != nil {
		return nil, err
	}
	resp, err := h.roundTrip(ctx, r, "")
	if err != nil {
		return nil, err
	}
	drain(resp.Body)
	out.Received = c.o.Clock.Now()
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		out.Date = date
	}
	for _, name := range limitHeaders {
		if value := resp.Header.Get(name); value != "" && len(value) < 100 {
			out.Limits[name] = value
		}
	}
	if resp.Request != nil && c.o.Proxy != nil {
		if proxy, err := c.o.Proxy(resp.Request); err == nil && proxy != nil {
			out.Proxy = proxyAddress(proxy)
		}
	}
	if state := resp.TLS; state != nil {
		out.TLS, out.Chain = tls.VersionName(state.Version), state.PeerCertificates
		if len(state.VerifiedChains) > 0 {
			out.Verified, out.Chain = true, state.VerifiedChains[0]
			out.TrustedBy, err = c.folderOf(h.name, out.Chain)
		}
	}
	return out, err
}

// folderOf returns the folder with certificates that has the last certificate of a chain, or "".
func (c *Client) folderOf(name string, chain []*x509.Certificate) (string, error) {
	for _, dir := range c.certDirs(name) {
		found, err := readCerts(dir, dir == c.o.CertDir, nil)
		if err != nil {
			return "", err
		}
		for der := range found.each {
			if bytes.Equal(der, chain[len(chain)-1].Raw) {
				return dir, nil
			}
		}
	}
	return "", nil
}
