package remote

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

const (
	maxErrorBody = 64 << 10 // bytes
	maxMessage   = 500      // letters
)

// failure returns an Error about r that is not an error response of the registry.
func (h *host) failure(r *request, err error) *Error {
	e := &Error{from: h, class: r.class(), Host: h.name, Repository: r.repo, Op: r.op, Message: err.Error(), Err: err}
	for _, kind := range []error{ErrMismatch, ErrRefused, ErrUnreachable} {
		e.Message = strings.TrimSuffix(e.Message, ": "+kind.Error()) // for programs
	}
	return e
}

// refused returns an Error for a URL from the registry that resolveURL refused.
func (h *host) refused(r *request, what string, err error) *Error {
	e := h.failure(r, fmt.Errorf("%s is not followed: %w", what, err))
	if r.kind == web {
		e.Hint = "check whether a proxy or a login portal responds instead of the server; if it is the server, use the address that it redirects to"
		return e
	}
	e.Hint = "if it begins with http://, have the reverse proxy in front of the registry send X-Forwarded-Proto, or set the registry's external address or relative URLs (CNCF distribution: http.host, http.relativeurls)"
	return e
}

// refusal returns an Error for a response with an unexpected status, and closes the response.
func (h *host) refusal(r *request, resp *http.Response) *Error {
	e := &Error{from: h, class: r.class(), Host: h.name, Repository: r.repo, Op: r.op, Status: resp.StatusCode}
	if u := resp.Request.URL; u.Host != h.addr {
		e.Host = u.Host
		if r.kind == "token" {
			e.Repository = "" // it is not at this host
		}
	}
	body, err := readAll(resp, maxErrorBody)
	if err == nil && resp.Request.Method != http.MethodHead {
		e.Code, e.Message = registryMessage(body)
		e.Message = withoutSecrets(e.Message, secrets(resp.Request, r)...)
	}
	e.Message = cmp.Or(e.Message, strings.ToLower(http.StatusText(resp.StatusCode)))
	if r.pushes() && (e.Host == h.name || r.kind == "token") {
		if e.Hint = h.mustCreate(r, resp.StatusCode, e.Code, e.Message); e.Hint != "" {
			if e.Err = ErrDenied; resp.StatusCode == http.StatusNotFound {
				e.Err = ErrNotFound
			}
			return e
		}
	}
	switch {
	case e.Host == h.name && (absentProject(r.repo, e.Message) || !r.pushes() && invalidName(e)):
		e.Err = ErrNotFound
		return e
	case r.pushes() && resp.StatusCode == http.StatusForbidden && e.Code == "MANIFEST_INVALID":
		e.Hint = "permit the user to overwrite tags (Artifactory: the permission to delete), or set targetTag to one that is not used there"
		return e
	case r.pushes() && resp.StatusCode == http.StatusForbidden && overQuota(e.Message):
		return e
	case h.refusesPassword(r, resp) || resp.StatusCode == http.StatusForbidden || r.kind == "token" && e.Code == invalidGrant:
		h.explainUnauthorized(resp.Request.Context(), e, r)
		return e
	}
	h.explain(e, r, resp)
	return e
}

// explainUnauthorized sets the cause and the hint of a response that refuses the credentials, or their permissions.
func (h *host) explainUnauthorized(ctx context.Context, e *Error, r *request) {
	e.Err = ErrUnauthorized
	if h.deniesRepository(ctx, r, e) {
		e.Err = ErrDenied
	}
	switch {
	case r.kind == web && r.authenticated:
		e.Hint = h.webLoginHint(r)
	case r.kind == web:
		e.Hint = "check the address, and whether a proxy or firewall blocks it; no credentials are sent there"
	case r.kind == "token" || e.Host == h.name: // a CDN knows no credentials
		e.Hint = h.loginHint(ctx, r)
	}
}

// explain sets the cause and the hint of a response with another unexpected status, and whether it is temporary.
func (h *host) explain(e *Error, r *request, resp *http.Response) {
	switch {
	case resp.StatusCode == http.StatusNotFound:
		e.Err = ErrNotFound
	case r.kind == "manifest" && r.method == http.MethodPut && refusesType(resp.StatusCode, e.Code, e.Message):
		e.Hint = typeHint(r.header.Get("Content-Type"))
	case resp.StatusCode == http.StatusMethodNotAllowed && e.Host == h.name && readOnly(r, e.Code, resp.Header.Get("Allow")):
		e.Err = ErrReadOnly
		e.Hint = "make it writable if it is read-only (CNCF distribution: storage.maintenance.readonly), or use another registry if it is a pull-through cache"
	case e.Message == layerAddress:
		e.Hint = "permit the addresses at which the vendor has layers of this image (CNCF distribution: validation.manifests.urls.allow)"
	case temporary(resp.StatusCode):
		e.retryable = true
		if resp.StatusCode >= http.StatusInternalServerError {
			e.Err = ErrFailing
		}
		e.after = retryAfter(resp.Header.Get("Retry-After"), h.c.o.Clock.Now())
	case resp.StatusCode == http.StatusRequestEntityTooLarge:
		e.Hint = "raise the body size limit of the registry or of the proxy in front of it (nginx: client_max_body_size)"
	case resp.StatusCode == http.StatusNotAcceptable && r.kind == web:
		e.Hint = "check the address: it does not serve " + r.header.Get("Accept")
	case resp.StatusCode == http.StatusProxyAuthRequired:
		e.Hint = "add the user and password of the proxy to HTTPS_PROXY or HTTP_PROXY"
	case resp.StatusCode == http.StatusBadRequest && r.kind == web && resp.Request.URL.Scheme == "http" && e.Code == "":
		e.Hint = "try an address with https://: the server may expect TLS"
	case resp.StatusCode == http.StatusBadRequest && r.kind == "ping" && resp.Request.URL.Scheme == "http":
		e.Err = ErrUnreachable
		e.Hint = fmt.Sprintf("do not set %s: the registry may expect TLS", h.c.o.Side.option("PlainHTTP"))
	}
}

// readOnly reports whether a 405 response to r, with this error code or Allow header, means that a
// registry is read-only: it refuses to start an upload, or a manifest.
func readOnly(r *request, code, allow string) bool {
	begins := r.kind == "upload" && r.method == http.MethodPost || r.kind == "manifest" && r.method == http.MethodPut
	return begins && (code == "UNSUPPORTED" || allow != "" && !strings.Contains(allow, r.method))
}

// loginHint returns the hint for refused credentials, which names where they are from.
func (h *host) loginHint(ctx context.Context, r *request) string {
	cred, err := h.credential(context.WithoutCancel(ctx), r.repo)
	switch {
	case err != nil || cred.Anonymous():
		return fmt.Sprintf("no credentials for %s were found; run gantry registry login %s, or set %s", h.name, h.name, h.c.o.Side.option("AuthFile"))
	case cred.Source != "":
		return fmt.Sprintf("check that the credentials in %s are valid and permit this, or set %s", cred.Source, h.c.o.Side.option("AuthFile"))
	}
	return "check that the credentials are valid and permit this"
}

// registryMessage reads the error body of the distribution specification ({"errors": [{"code",
// "message"}]}), of token endpoints ({"details"} or {"error", "error_description"}) and of update services
// ({"kind", "value"}).
func registryMessage(body []byte) (code, message string) {
	var response struct {
		Errors []struct {
			Code    string          `json:"code"`
			Message string          `json:"message"`
			Detail  json.RawMessage `json:"detail"`
		} `json:"errors"`
		Details     string `json:"details"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
		Kind        string `json:"kind"`
		Value       string `json:"value"`
	}
	if json.Unmarshal(body, &response) != nil {
		return "", ""
	}
	if strings.Contains(string(body), layerAddress) {
		return "", layerAddress
	}
	if len(response.Errors) > 0 {
		first := response.Errors[0]
		return clean(first.Code), clean(detailed(first.Message, first.Detail))
	}
	if response.Value != "" {
		return clean(response.Kind), clean(response.Value)
	}
	if response.Error == invalidGrant {
		code = invalidGrant
	}
	return code, clean(response.Details + response.Description)
}

// invalidGrant is the error of a token service for an identity token that is expired or revoked (RFC 6749, section 5.2).
const invalidGrant = "invalid_grant"

// layerAddress is the detail of the second "unknown error" with which CNCF distribution refuses addresses of layers, with 500.
const layerAddress = "invalid URL on layer"

// clean makes a registry's message safe for a terminal.
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

var signedQuery = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(https?://[^\s"'?]+)\?[^\s"']*`) })

// secrets returns what was sent and must not appear in messages.
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

// withoutSecrets replaces secrets in s, and the queries of URLs.
func withoutSecrets(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return signedQuery().ReplaceAllString(s, "$1?[redacted]")
}

// webLoginHint returns what to do if a server that is not a registry requires other credentials.
func (h *host) webLoginHint(r *request) string {
	file := h.c.o.Side.option("AuthFile")
	switch {
	case !r.credential.Anonymous():
		return "correct the credentials for " + h.name + " in " + r.credential.Source
	case strings.HasPrefix(r.url, "http:") && !h.loopback() && !h.insecure && !h.c.o.PlainHTTP:
		return "use an https address: credentials are not sent over plain http, unless " + h.c.o.Side.option("SkipTLSVerify") + " is set"
	}
	return "add the user and password for " + h.name + " to the file that " + file + " names"
}
