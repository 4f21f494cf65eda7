package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"unicode"
)

const (
	maxErrorBody = 64 << 10 // bytes
	maxMessage   = 500      // letters
)

// failure is an Error about r that no answer of the registry explains.
func (h *host) failure(r *request, err error) *Error {
	return &Error{from: h, class: r.class(), Host: h.name, Repository: r.repo, Op: r.op, Message: err.Error(), Err: err}
}

// broken is a failure while an answer was read: worth another attempt, unless
// the answer was too large.
func (h *host) broken(r *request, err error) *Error {
	e := h.failure(r, err)
	e.again = !errors.Is(err, errTooLarge)
	if e.again {
		e.Message = "the answer was cut short: " + err.Error()
		e.Err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return e
}

// refused is about an address that a registry named and target refused.
func (h *host) refused(r *request, what string, err error) *Error {
	e := h.failure(r, fmt.Errorf("%s is not followed: %w", what, err))
	if r.kind == web {
		e.Hint = "a proxy or a portal on the way may have answered in the server's place; where it is the server, give the address that it redirects to"
		return e
	}
	e.Hint = "an address with http:// often comes from a proxy before the registry that does not pass X-Forwarded-Proto on; set the registry's own external address or relative URLs (http.host, http.relativeurls)"
	return e
}

// refusal makes an Error of an answer that is not the one hoped for, and closes
// it.
func (h *host) refusal(r *request, resp *http.Response) *Error {
	e := &Error{from: h, class: r.class(), Host: h.name, Repository: r.repo, Op: r.op, Status: resp.StatusCode}
	if u := resp.Request.URL; u.Host != h.addr {
		e.Host = u.Host
	}
	body, err := readAll(resp, maxErrorBody)
	if err == nil && resp.Request.Method != http.MethodHead {
		e.Code, e.Message = registryMessage(body)
		e.Message = redact(e.Message, secrets(resp.Request, r)...)
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(resp.StatusCode))
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		e.Err = ErrUnauthorized
		if h.denies(resp.Request.Context(), r, resp.StatusCode) {
			e.Err = ErrDenied
		}
		switch {
		case r.kind == web:
			e.Hint = "it is asked without credentials: check the address, and whether a proxy or firewall on the way permits it"
		case r.kind == "token" || e.Host == h.name: // a CDN knows no credentials
			e.Hint = h.loginHint(resp.Request.Context(), r)
		}
	case resp.StatusCode == http.StatusNotFound:
		e.Err = ErrNotFound
	case resp.StatusCode == http.StatusMethodNotAllowed && e.Host == h.name && readOnly(r, e.Code, resp.Header.Get("Allow")):
		e.Err = ErrReadOnly
		e.Hint = "it answers so where it is read-only (CNCF distribution: storage.maintenance.readonly) or a cache of another registry: have it take content again, or name another registry"
	case temporary(resp.StatusCode):
		e.again = true
		if resp.StatusCode >= http.StatusInternalServerError {
			e.Err = ErrFailing
		}
		e.after = retryAfter(resp.Header.Get("Retry-After"), h.c.o.Clock.Now())
	case resp.StatusCode == http.StatusRequestEntityTooLarge:
		e.Hint = "raise the body limit of the registry or of the proxy before it (nginx: client_max_body_size)"
	case resp.StatusCode == http.StatusNotAcceptable && r.kind == web:
		e.Hint = "it has nothing of the kind that was asked for (" + r.header.Get("Accept") + "): check the address"
	case resp.StatusCode == http.StatusProxyAuthRequired:
		e.Hint = "give the proxy's user and password in HTTPS_PROXY or HTTP_PROXY"
	case resp.StatusCode == http.StatusBadRequest && r.kind == web && resp.Request.URL.Scheme == "http" && e.Code == "":
		e.Hint = "it may speak TLS: try an address with https://"
	case resp.StatusCode == http.StatusBadRequest && r.kind == "ping" && resp.Request.URL.Scheme == "http":
		e.Err = ErrUnreachable
		e.Hint = fmt.Sprintf("it may speak TLS: try without %s", h.c.o.Side.flag("plain-http"))
	}
	return e
}

// readOnly reports whether 405 to r, with this code or the methods that are
// allowed, says that a registry takes nothing: not where an upload begins, and no
// manifest.
func readOnly(r *request, code, allow string) bool {
	begins := r.kind == "upload" && r.method == http.MethodPost || r.kind == "manifest" && r.method == http.MethodPut
	return begins && (code == "UNSUPPORTED" || allow != "" && !strings.Contains(allow, r.method))
}

// loginHint says which credentials were used, or how to give some.
func (h *host) loginHint(ctx context.Context, r *request) string {
	flag := h.c.o.Side.flag("authfile")
	cred, err := h.credential(context.WithoutCancel(ctx), r.repo)
	switch {
	case err != nil || cred.Anonymous():
		return fmt.Sprintf("no credentials for %s were found: log in with `gantry login %s`, or name a file with %s", h.name, h.name, flag)
	case cred.Source != "":
		return fmt.Sprintf("the credentials of %s were used: check that they are valid and permit this, or name another file with %s", cred.Source, flag)
	}
	return "check that the credentials are valid and permit this"
}

// registryMessage reads the error body of the specification: {"errors":
// [{"code", "message"}]}, that of token endpoints, {"details"} or
// {"error_description"}, and that of update services, {"kind", "value"}.
func registryMessage(body []byte) (code, message string) {
	var answer struct {
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
		Details     string `json:"details"`
		Description string `json:"error_description"`
		Kind        string `json:"kind"`
		Value       string `json:"value"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return "", ""
	}
	if len(answer.Errors) > 0 {
		return clean(answer.Errors[0].Code), clean(answer.Errors[0].Message)
	}
	if answer.Value != "" {
		return clean(answer.Kind), clean(answer.Value)
	}
	return "", clean(answer.Details + answer.Description)
}

// clean makes a registry's words fit for a terminal.
func clean(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c):
			return -1
		}
		return c
	}, s)
	if r := []rune(s); len(r) > maxMessage {
		s = string(r[:maxMessage]) + "…"
	}
	return strings.TrimSpace(s)
}

var signedQuery = regexp.MustCompile(`(https?://[^\s"'?]+)\?[^\s"']*`)

// secrets lists what was sent and must not come back in a registry's words.
func secrets(req *http.Request, r *request) []string {
	var list []string
	_, sent, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	list = append(list, sent)
	if raw, err := base64.StdEncoding.DecodeString(sent); err == nil {
		_, password, _ := strings.Cut(string(raw), ":")
		list = append(list, password)
	}
	if form, err := url.ParseQuery(r.form); err == nil {
		list = append(list, form.Get("refresh_token"))
	}
	return list
}

// redact takes secrets out of s, and the queries of addresses.
func redact(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return signedQuery.ReplaceAllString(s, "$1?[redacted]")
}

// networkError makes an Error of a request that got no answer.
func (h *host) networkError(ctx, wctx context.Context, r *request, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &Error{from: h, class: r.class(), Host: u.Host, Repository: r.repo, Op: r.op, Err: fmt.Errorf("%w: %w", ErrUnreachable, err)}
	if u.Host == h.addr {
		e.Host = h.name
	}
	side := h.c.o.Side
	var (
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		refusal *proxyRefusal
		op      *net.OpError
		dns     *net.DNSError
	)
	errors.As(err, &op)
	switch {
	case errors.Is(context.Cause(wctx), errStalled):
		e.Err = fmt.Errorf("%w: %w", ErrBroken, errStalled)
		e.Message = fmt.Sprintf("no byte moved for %s", h.c.o.IdleTimeout)
		e.again = true
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		e.Message = "it speaks plain http where TLS was expected"
		e.Hint = fmt.Sprintf("add %s if that is as it should be", side.flag("plain-http"))
		if r.kind == web {
			e.Hint = "give the address with http:// if that is as it should be"
		}
	case errors.As(err, &verify):
		e.Err = fmt.Errorf("%w: %w", ErrUntrusted, err)
		e.Message = "its certificate is not trusted: " + verify.Err.Error() + " (issued by " + issuer(err) + ")"
		e.Hint = trustHint(verify.Err, e.Host, side)
	case op != nil && op.Op == "remote error":
		e.Err = fmt.Errorf("%w: %w", ErrUntrusted, err)
		e.Message = "it ended the TLS handshake: " + op.Err.Error()
		e.Hint = fmt.Sprintf("where it asks for a client certificate, put it into /etc/containers/certs.d/%s/client.cert and client.key", e.Host)
	case errors.As(err, &refusal):
		e.Message = refusal.Error()
		e.again = temporary(refusal.status)
		e.Hint = "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	case errors.As(err, &dns):
		e.Message = fmt.Sprintf("the name %s cannot be looked up: %s%s", dns.Name, dns.Err, h.via(u))
		e.again = h.answered.Load() || dns.IsTemporary && !dns.IsTimeout
		e.away = u.Host == h.addr
		e.Hint = "check the name, the network and the settings of the proxy (HTTPS_PROXY, NO_PROXY)"
	case dialing(op):
		e.Message = "it cannot be reached" + h.via(u) + ": " + op.Err.Error()
		// A registry that restarts in the middle of a run is waited for.
		e.again = h.answered.Load()
		e.away = u.Host == h.addr
		e.Hint = "check the name, the port, the network and the settings of the proxy (HTTPS_PROXY, NO_PROXY)"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		e.Message = "it does not answer in time" + h.via(u)
		e.again = h.answered.Load()
	default:
		e.Err = fmt.Errorf("%w: %w", ErrBroken, err)
		e.Message = "the connection broke" + h.via(u) + ": " + err.Error()
		e.again = true
	}
	e.Message = redact(e.Message)
	return e
}

// dialing reports whether a connection could not be made.
func dialing(op *net.OpError) bool {
	return op != nil && (op.Op == "dial" || op.Op == "proxyconnect")
}

// trustHint says what to do about a certificate that was not accepted.
func trustHint(err error, host string, side Side) string {
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("use a name that the certificate is for, or do without the check: %s=false", side.flag("tls-verify"))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("check this machine's clock, have the certificate renewed, or do without the check: %s=false", side.flag("tls-verify"))
	}
	return fmt.Sprintf("put the issuer's certificate into /etc/containers/certs.d/%s/ca.crt, or name a folder that holds it with --cert-dir, or do without the check: %s=false", host, side.flag("tls-verify"))
}

// via names the proxy on the way to u.
func (h *host) via(u *url.URL) string {
	proxy, err := h.c.o.Proxy(&http.Request{URL: u, Header: http.Header{}})
	if err != nil || proxy == nil {
		return ""
	}
	return " through the proxy " + proxy.Redacted()
}
