package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// networkError returns an Error for a request without a response.
func (h *host) networkError(ctx, wctx context.Context, r *request, u *url.URL, p *peer, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &Error{from: h, peer: p, class: r.class(), Host: u.Host, Repository: r.repo, Op: r.op, Err: fmt.Errorf("%w: %w", ErrUnreachable, err)}
	answered := h.answered.Load()
	switch {
	case u.Host == h.addr:
		e.Host = h.name
	case r.kind == "token": // at another host
		e.Repository, answered = "", p.heard.Load() > 0
	}
	side := h.c.o.Side
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		refusal *proxyRefusal
		op      *net.OpError
		dns     *net.DNSError
		address *addressError
	)
	errors.As(err, &op)
	switch {
	case explainWatch(e, context.Cause(wctx)):
	case errors.As(err, &address):
		if u.Hostname() == address.addr.String() {
			return h.refusedAddress(r, u, address)
		}
		return h.refusedAddress(r, u, fmt.Errorf("%s: %w", u.Host, address))
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		e.Message = "it speaks plain HTTP, not TLS"
		e.Hint = fmt.Sprintf("set %s if this is expected", side.option("PlainHTTP"))
		if r.kind == web {
			e.Hint = "write the address with http:// if this is expected"
		}
	case errors.As(err, &verify):
		e.Err = fmt.Errorf("%w: %w", ErrUntrusted, err)
		e.Message = "its certificate is not trusted: " + distrust(verify) + " (issued by " + issuer(err) + ")"
		e.Hint = trustHint(verify.Err, e.Host, side)
	case strings.Contains(err.Error(), "tls: server selected unsupported protocol version"):
		e.Message, e.Hint = oldTLS(err)
	case op != nil && op.Op == "remote error":
		p.certs.explain(e, op.Err)
	case errors.As(err, &refusal):
		e.Message = refusal.Error()
		e.retryable = temporary(refusal.status)
		e.Hint = "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	case errors.As(err, &dns):
		e.Message = fmt.Sprintf("the name %s cannot be resolved: %s%s", dns.Name, dns.Err, h.via(u))
		e.retryable = answered || dns.IsTemporary && !dns.IsTimeout
		e.unreachable = u.Host == h.addr
		e.Hint = "check the host name, the network and the proxy settings (HTTPS_PROXY, NO_PROXY)"
	case dialing(op):
		e.Message = "it cannot be reached" + at(op, u) + h.via(u) + ": " + op.Err.Error()
		// The server may be restarting.
		e.retryable = answered || errors.Is(err, syscall.ECONNREFUSED)
		e.unreachable = u.Host == h.addr
		e.Hint = "check the host name, the port, the network and the proxy settings (HTTPS_PROXY, NO_PROXY)"
	case handshakeTimedOut(err):
		e.Err = fmt.Errorf("%w: %w", ErrBroken, err)
		e.Message = fmt.Sprintf("the TLS handshake took longer than %s%s", tlsTimeout, h.via(u))
		e.retryable, e.silent = true, tlsTimeout
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		e.Message = "it does not respond in time" + h.via(u)
		e.retryable = answered
	default:
		e.Err = fmt.Errorf("%w: %w", ErrBroken, err)
		e.Message = "the connection broke" + h.via(u) + ": " + breakCause(err)
		e.retryable = true
	}
	e.Message = withoutSecrets(e.Message)
	if r.kind == "token" && u.Host != h.addr {
		e.Message += " (the token service that " + h.name + " names)"
	}
	return e
}

// at returns " at ADDRESS:PORT", of the connection to u that failed, unless u has them.
func at(op *net.OpError, u *url.URL) string {
	if op.Op != "dial" || op.Addr == nil || op.Addr.String() == u.Host {
		return ""
	}
	return " at " + op.Addr.String()
}

// dialing reports whether a connection could not be made.
func dialing(op *net.OpError) bool {
	return op != nil && (op.Op == "dial" || op.Op == "proxyconnect")
}

// trustHint returns the hint for a certificate that was not accepted.
func trustHint(err error, host string, side Side) string {
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("use a host name that the certificate is valid for, or set %s", side.option("SkipTLSVerify"))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("check the clock of this machine, have the certificate renewed, or set %s", side.option("SkipTLSVerify"))
	}
	return fmt.Sprintf("put the issuer's certificate into /etc/containers/certs.d/%s/ca.crt, or set %s to a folder with it as *.crt, or set %s", host, side.option("CertDir"), side.option("SkipTLSVerify"))
}

// via returns " through the proxy ..." if requests to u go through one.
func (h *host) via(u *url.URL) string {
	proxy, err := h.c.o.Proxy(&http.Request{URL: u, Header: http.Header{}})
	if err != nil || proxy == nil {
		return ""
	}
	return " through the proxy " + proxyAddress(proxy)
}
