package remote

import (
	"bytes"
	"context"
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

// A request is what is sent to a host, once or again after a failure.
type request struct {
	op     string // for errors: "reading the manifest v1"
	kind   string // for Stats
	method string
	repo   string   // repository path at this host; "" for none
	scopes []string // what a token has to allow
	url    string   // absolute; "" if path is set
	path   string   // "/v2/…" below the host
	header http.Header

	body []byte // a small body, or …
	form string // … one that is sent to one address only, or …
	// … a stream of size bytes. It is opened when the request gets a connection.
	open func(context.Context) (*sourceBody, error)
	size int64

	cuts int // of the limit of streams when it is sent

	// hasStream: the caller already has a stream at the host.
	hasStream bool

	// sending, if set, is called before each time that it is sent.
	sending func()

	// grace is for how long an exchange that was sent completely may continue when its context
	// ends: the response saves finding out the result later.
	grace time.Duration

	// storing is for how long the registry may be silent after the last byte of the body; less than
	// for other responses means as long as for these.
	storing time.Duration

	// foreign: the URL is not the registry's API, and its responses may not be meant for the user.
	// do requests it without credentials.
	foreign bool

	// authenticated: the URL is foreign, and the credential is sent to its host, if there is one.
	authenticated bool
	credential    keychain.Credential

	// stays: redirects are not followed.
	stays bool
}

// do sends r when a stream at the host is free, with the authorization that the host requires. The
// stream is free again when the body of the response is closed. Responses of any status are
// returned; err is for requests without a response.
func (h *host) do(ctx context.Context, r *request) (*http.Response, error) {
	release := func() {}
	if !r.hasStream {
		if err := h.streams.acquire(ctx); err != nil {
			return nil, err
		}
		release = h.streams.release
	}
	resp, err := h.send(ctx, r)
	if err != nil {
		release()
		return nil, err
	}
	body := resp.Body.(*responseBody)
	h.adapt(r, resp, body.watch.took)
	body.done = release
	return resp, nil
}

// adapt adapts the limit of streams and the pace to a response.
func (h *host) adapt(r *request, resp *http.Response, took time.Duration) {
	now := h.c.o.Clock.Now()
	h.noteTime(now, resp)
	cut := h.streams.answered(now, h.stats.moved(), r, resp.StatusCode, took)
	switch {
	case resp.StatusCode != http.StatusTooManyRequests:
		h.pace.answered(now)
	case cut:
		h.pace.refused(now)
	}
}

// send probes, authorizes and sends. A response 401 may mean that the token expired or that the
// repository requires more scopes: there is one more attempt, with what the response requires.
// Tokens from before that response may have expired like the first and do not count.
func (h *host) send(ctx context.Context, r *request) (*http.Response, error) {
	if r.foreign {
		if err := h.admit(ctx); err != nil {
			return nil, err
		}
		r.cuts = h.streams.cuts()
		return h.sendCredential(ctx, r.credential, r, passwordHeader(r.credential))
	}
	if err := h.probe(ctx); err != nil {
		return nil, err
	}
	if r.url == "" {
		r.url = h.base() + r.path
	}
	first, last := true, 0 // the number of the last token at the first refusal
	for {
		// Before the token is fetched, which must not expire meanwhile.
		if err := h.admit(ctx); err != nil {
			return nil, err
		}
		r.cuts = h.streams.cuts()
		t, err := h.authorize(ctx, r)
		if err != nil {
			return nil, err
		}
		resp, err := h.sendCredential(ctx, t.credential, r, t.header)
		old := 0 < t.number && t.number <= last
		if err != nil || resp.StatusCode != http.StatusUnauthorized || !first && !old || !h.learnChallenge(r, resp, t.header) {
			return resp, err
		}
		drain(resp.Body)
		if issued := h.dropTokens(r.repo, t.number); first {
			first, last = false, issued
		}
	}
}

// learnChallenge records the challenge of a 401 and reports whether another attempt may succeed.
func (h *host) learnChallenge(r *request, resp *http.Response, authorization string) bool {
	if u, err := url.Parse(h.base()); err != nil || !sameHost(u, resp.Request.URL) {
		return false
	}
	ch := bestChallenge(resp.Header.Values("WWW-Authenticate"))
	if ch.scheme == "" || ch.scheme == "basic" && authorization != "" {
		return false
	}
	if scope := ch.params["scope"]; scope != "" {
		for s := range strings.FieldsSeq(scope) {
			if !(token{scopes: r.scopes}).covers([]string{s}) && len(r.scopes) < 16 {
				r.scopes = append(r.scopes, s)
			}
		}
	}
	h.mu.Lock()
	h.challenge = ch
	h.mu.Unlock()
	return true
}

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
	return nil, h.failure(r, fmt.Errorf("more than %d redirects: %w", maxHops, ErrRefused))
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
