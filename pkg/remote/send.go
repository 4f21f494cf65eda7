package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// maxHops limits the redirects of one request.
const maxHops = 10

// roundTrip sends r as it is and follows redirects. Only the first host, if it is the one that r is
// addressed to, receives the authorization.
func (h *host) roundTrip(ctx context.Context, r *request, authorization string) (*http.Response, error) {
	u, err := url.Parse(r.url)
	if err != nil {
		return nil, h.failure(r, fmt.Errorf("the address is malformed: %w", ErrRefused))
	}
	h.c.stats.request(r.method, r.kind)
	h.stats.requests.Add(1)
	origin := u
	if !r.foreign {
		origin = &url.URL{Scheme: u.Scheme, Host: h.addr}
	}
	for range maxHops {
		if !sameHost(origin, u) {
			authorization = ""
		}
		resp, err := h.exchange(ctx, r, u, authorization)
		if err != nil {
			return nil, err
		}
		if !redirects(r, resp) {
			h.obeyRetryAfter(resp)
			h.breaker.answered(r, resp.StatusCode)
			return resp, nil
		}
		next, err := h.resolveURL(u.String(), resp.Header.Get("Location"))
		drain(resp.Body)
		if err != nil {
			return nil, h.refused(r, "a redirect", err)
		}
		u = next
	}
	e := h.failure(r, fmt.Errorf("it redirects more than %d times: %w", maxHops, ErrRefused))
	e.Hint = "check the server, and the proxy in front of it: they lead in a circle"
	return nil, e
}

// obeyRetryAfter delays all requests to the host if it sends Retry-After.
func (h *host) obeyRetryAfter(resp *http.Response) {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		now := h.c.o.Clock.Now()
		if d := retryAfter(resp.Header.Get("Retry-After"), now); d > 0 {
			h.pace.hold(now, d)
		}
	}
}

// redirects reports whether resp redirects r, and r can follow.
func redirects(r *request, resp *http.Response) bool {
	if resp.Header.Get("Location") == "" || r.form != "" || r.stays {
		return false
	}
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		return r.method == http.MethodGet || r.method == http.MethodHead
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// exchange is one exchange with one host.
func (h *host) exchange(ctx context.Context, r *request, u *url.URL, authorization string) (*http.Response, error) {
	name := u.Host
	if u.Host == h.addr {
		name = h.name
	}
	by := h.origin(r, u)
	if by.proxied {
		if err := by.checkLiteral(u); err != nil {
			return nil, h.refusedAddress(r, u, err)
		}
	}
	p, err := h.c.peer(name, h.insecure, by)
	if err != nil {
		return nil, permanentError{err}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if p.isMuted(h.c.o.Clock.Now()) {
		return nil, h.silent(r, u)
	}
	wctx, w := newWatch(ctx, h, p, r)
	req, err := h.prepare(wctx, w, r, u)
	if err != nil {
		w.stop()
		return nil, err
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	if r.sending != nil {
		r.sending()
	}
	started := h.c.o.Clock.Now()
	p.try(started)
	resp, err := p.sends.RoundTrip(req)
	if err != nil {
		err = h.networkError(ctx, wctx, r, u, p, err)
		h.logExchange(ctx, req, started, nil, err)
		w.stop()
		return nil, err
	}
	h.logExchange(ctx, req, started, resp, nil)
	p.heard.Add(1)
	p.mute(time.Time{})
	if u.Host == h.addr {
		h.answered.Store(true)
		h.gaveUp.Store(false)
		if away, back := h.trouble.ended(h.c.o.Clock.Now()); back {
			h.c.o.Log.Warn("a server responds again", "host", h.name, "away", away.Round(time.Millisecond))
		}
	}
	w.answered()
	resp.Request = req
	resp.Body = &responseBody{ReadCloser: resp.Body, ctx: wctx, watch: w}
	return resp, nil
}

// prepare returns the http.Request of one exchange and opens its body.
func (h *host) prepare(ctx context.Context, w *watch, r *request, u *url.URL) (*http.Request, error) {
	var reader io.Reader
	var source *sourceBody
	size := int64(len(r.body) + len(r.form))
	switch {
	case r.open != nil && r.size > 0:
		var err error
		w.pause() // the registry does not stall while a slow source is opened
		if source, err = r.open(ctx); err != nil {
			return nil, err
		}
		w.wait()
		reader, size = source, r.size
	case r.form != "":
		reader = strings.NewReader(r.form)
	case len(r.body) > 0:
		reader = bytes.NewReader(r.body)
	}
	req := &http.Request{
		Method: r.method, URL: u, Host: u.Host, Header: r.header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("User-Agent", h.c.o.UserAgent)
	if w.body = reader != nil; w.body {
		req.Body = &requestBody{Reader: reader, ctx: ctx, watch: w, source: source, left: size}
		req.ContentLength = size
	} else if r.method == http.MethodPut {
		w.sent() // the upload was sent in other requests: now the registry joins it
	}
	return req.WithContext(ctx), nil
}

// sendCredential sends r, which contains the secret of cred. Its refusal is an error, also for all
// later requests.
func (h *host) sendCredential(ctx context.Context, cred keychain.Credential, r *request, authorization string) (*http.Response, error) {
	if cred.Anonymous() {
		return h.roundTrip(ctx, r, authorization)
	}
	p := h.credentialState(cred)
	if p.accepted.Load() {
		return h.roundTrip(ctx, r, authorization)
	}
	if err := p.gate.enter(ctx); err != nil {
		return nil, err
	}
	if p.accepted.Load() {
		p.gate.leave()
		return h.roundTrip(ctx, r, authorization)
	}
	defer p.gate.leave()
	if p.refused != nil {
		e := *p.refused
		e.Op, e.Repository = r.op, r.repo
		return nil, permanentError{&e}
	}
	resp, err := h.roundTrip(ctx, r, authorization)
	if err != nil {
		return nil, err
	}
	switch refuses := h.refusesPassword(r, resp); {
	case !refuses && resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusForbidden, temporary(resp.StatusCode):
		// This says nothing about the secret.
	case !refuses:
		p.accepted.Store(true)
	case r.kind == "token" || bestChallenge(resp.Header.Values("WWW-Authenticate")).scheme != "bearer":
		e := h.refusal(r, resp)
		if !errors.Is(e, ErrDenied) && !notFound(e) { // these are about one repository
			p.refused = e
		}
		return nil, permanentError{e}
	}
	return resp, nil
}
