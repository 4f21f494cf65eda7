package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// A host is the state of one registry: how it is reached, how to authenticate, and its tokens.
type host struct {
	c        *Client
	name     string // "docker.io": as references, credentials and certs.d have it
	addr     string // "registry-1.docker.io": as it is dialed
	insecure bool   // any certificate, or none
	streams  *streams
	pace     pace
	requests *rate.Limiter // nil: no limit
	in, out  buckets       // the limits of what is received and sent
	stats    hostCounters

	referrersAPI  atomic.Int32 // apiUnknown, apiPresent or apiAbsent
	referrersGate gate         // entered until that is known
	listing       sync.Map     // lists of referrers that are being changed: "repository:tag" -> gate

	probeGate gate // entered by probe
	probed    atomic.Bool
	answered  atomic.Bool // it has responded in this run
	gaveUp    atomic.Bool // retries were used up, and it has not responded since
	breaker   breaker
	trouble   trouble
	clock     atomic.Pointer[clockReading]

	mu          sync.Mutex
	scheme      string // set by probe
	probeErr    error  // the error of probe
	challenge   challenge
	tokens      map[string][]token // by repository path
	issued      int                // how many tokens there were
	tokenGates  map[string]gate
	credentials map[keychain.Credential]*credentialState
	noPut       bool // refuses a PUT with a body
	noChunks    bool // refuses parts with a Content-Range
}

// base returns "https://quay.io". It is only valid after probe.
func (h *host) base() string { return h.scheme + "://" + h.addr }

// loopback reports whether the registry is on this machine.
func (h *host) loopback() bool { return loopbackName(h.addr) }

// loopbackName reports whether host[:port] is this machine, by its name.
func loopbackName(hostport string) bool {
	name := hostOnly(hostport)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

func hostOnly(hostport string) string {
	name, _, err := net.SplitHostPort(hostport)
	if err != nil {
		name = strings.Trim(hostport, "[]")
	}
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// probe finds out once, with GET /v2/, whether the host supports TLS and how to authenticate. If
// that fails, every request of the run fails with the same error.
func (h *host) probe(ctx context.Context) error {
	if h.probed.Load() {
		return nil
	}
	if err := h.probeGate.enter(ctx); err != nil {
		return err
	}
	defer h.probeGate.leave()
	if h.probed.Load() {
		return nil
	}
	if h.probeErr != nil {
		return h.probeErr
	}
	err := h.c.retry(ctx, h.detect)
	if err != nil {
		err = permanentError{err}
		if ctx.Err() == nil {
			h.mu.Lock()
			h.probeErr = err
			h.mu.Unlock()
		}
		return err
	}
	h.probed.Store(true)
	return nil
}

// probeFailed reports whether probe failed.
func (h *host) probeFailed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.probeErr != nil
}

// detect tries TLS and then, if the user or the address permits it, plain HTTP.
func (h *host) detect(ctx context.Context) error {
	if h.c.o.PlainHTTP {
		return h.ping(ctx, "http")
	}
	err := h.ping(ctx, "https")
	if err == nil || ctx.Err() != nil || !h.mayFallBack(err) {
		return err
	}
	plain := h.ping(ctx, "http")
	var record tls.RecordHeaderError
	if e := registryError(plain); plain == nil || e != nil && (temporary(e.Status) || e.retryable && errors.As(err, &record)) {
		return plain // it speaks HTTP, even if it is busy
	}
	return err
}

// mayFallBack reports whether plain HTTP may be tried after TLS failed with err.
func (h *host) mayFallBack(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Status != 0 {
		return false // it speaks TLS, and responded
	}
	var op *net.OpError
	if _, _, err := net.SplitHostPort(h.addr); err == nil && errors.As(e, &op) && dialing(op) {
		return false // nothing listens at this port; HTTP has another port if none is given
	}
	if h.insecure {
		return true
	}
	var cert *tls.CertificateVerificationError
	return h.loopback() && !errors.As(err, &cert)
}

// ping requests the root of the API and keeps its challenge.
func (h *host) ping(ctx context.Context, scheme string) error {
	r := &request{
		op: "requesting the registry API", kind: "ping", method: http.MethodGet,
		url: scheme + "://" + h.addr + "/v2/",
	}
	if err := h.admit(ctx); err != nil {
		return err
	}
	resp, err := h.roundTrip(ctx, r, "")
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if temporary(resp.StatusCode) || resp.StatusCode == http.StatusBadRequest {
		// TLS servers respond 400 to plain HTTP.
		return h.refusal(r, resp)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scheme = scheme
	h.challenge = challenge{}
	if resp.StatusCode == http.StatusUnauthorized && resp.Request.URL.Host == h.addr {
		h.challenge = bestChallenge(resp.Header.Values("WWW-Authenticate"))
	}
	return nil
}

// drain reads the rest of a small body, so that its connection can be reused.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 16<<10)
	_ = body.Close()
}

// issuer returns the issuer of the certificate that was not accepted.
func issuer(err error) string {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) && unknown.Cert != nil {
		return unknown.Cert.Issuer.String()
	}
	var v *tls.CertificateVerificationError
	if errors.As(err, &v) && len(v.UnverifiedCertificates) > 0 {
		return v.UnverifiedCertificates[len(v.UnverifiedCertificates)-1].Issuer.String()
	}
	return "an unknown issuer"
}
