package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
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

// drain reads the rest of a small body, so that its connection can be reused.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 16<<10)
	_ = body.Close()
}

// issuer returns the issuer of the certificate that was not accepted.
func issuer(err error) string {
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok && unknown.Cert != nil {
		return unknown.Cert.Issuer.String()
	}
	if v, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(v.UnverifiedCertificates) > 0 {
		return v.UnverifiedCertificates[len(v.UnverifiedCertificates)-1].Issuer.String()
	}
	return "an unknown issuer"
}
