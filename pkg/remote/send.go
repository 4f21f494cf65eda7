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
)

// maxHops bounds the redirects of one request.
const maxHops = 10

// A request is what goes to a host: once, or again after a failure.
type request struct {
	op     string // for errors: "reading the manifest v1"
	kind   string // for Stats
	method string
	repo   string   // repository path at this host; "" for none
	scopes []string // what a token has to allow
	url    string   // absolute; "" where path says it
	path   string   // "/v2/…" below the host
	header http.Header

	body []byte // a small body, or …
	form string // … one that is sent to one address only, or …
	// … a stream of size bytes. It is opened when its connection is sought.
	open func(context.Context) (*sourceBody, error)
	size int64

	cuts int // of the width that it is sent at

	// held: the caller has a stream at the host already.
	held bool

	// late is how long an exchange may go on when its context ends, of which all
	// was sent: the answer tells what would else have to be found out.
	late time.Duration

	// foreign: the address is not the registry's API and its answers are not
	// known to be for the eyes of the user. do asks for it without credentials.
	foreign bool
}

// do sends r when a stream at the host is free, authorized as the host asks.
// The stream is free again when the body of the response is closed. Any status
// is an answer; err is for requests without one.
func (h *host) do(ctx context.Context, r *request) (*http.Response, error) {
	release := func() {}
	if !r.held {
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
	body := resp.Body.(*answerBody)
	h.adapt(r, resp, body.watch.took)
	body.done = release
	return resp, nil
}

// adapt learns from an answer how much may be asked of the host.
func (h *host) adapt(r *request, resp *http.Response, took time.Duration) {
	now := h.c.o.Clock.Now()
	cut := h.streams.answered(now, h.stats.moved(), r, resp.StatusCode, took)
	switch {
	case resp.StatusCode != http.StatusTooManyRequests:
		h.pace.answered(now)
	case cut:
		h.pace.refused(now)
	}
}

// send probes, authorizes and sends. An answer 401 may mean that the token ran
// out or that the repository asks for more: there is one more attempt, with
// what the answer says. Tokens that are there since before that answer may have
// run out like the first; they count for nothing.
func (h *host) send(ctx context.Context, r *request) (*http.Response, error) {
	if r.foreign {
		if err := h.admit(ctx); err != nil {
			return nil, err
		}
		r.cuts = h.streams.cuts()
		return h.roundTrip(ctx, r, "")
	}
	if err := h.probe(ctx); err != nil {
		return nil, err
	}
	if r.url == "" {
		r.url = h.base() + r.path
	}
	first, last := true, 0 // the last token when it was refused first
	for {
		// Before the token is sought, which must not run out meanwhile.
		if err := h.admit(ctx); err != nil {
			return nil, err
		}
		r.cuts = h.streams.cuts()
		t, err := h.authorize(ctx, r)
		if err != nil {
			return nil, err
		}
		resp, err := h.show(ctx, t.shown, r, t.header)
		old := 0 < t.number && t.number <= last
		if err != nil || resp.StatusCode != http.StatusUnauthorized || !first && !old || !h.learn(r, resp, t.header) {
			return resp, err
		}
		drain(resp.Body)
		if issued := h.forget(r.repo, t.number); first {
			first, last = false, issued
		}
	}
}

// learn takes in what a 401 asks for and reports whether another attempt can do
// better.
func (h *host) learn(r *request, resp *http.Response, authorization string) bool {
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

// roundTrip sends r as it is and follows redirects. Only the first host, if it
// is the one that r is addressed to, sees the authorization.
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
		resp, err := h.once(ctx, r, u, authorization)
		if err != nil {
			return nil, err
		}
		if !redirects(r, resp) {
			h.heed(resp)
			h.breaker.answered(r, resp.StatusCode)
			return resp, nil
		}
		next, err := h.target(u.String(), resp.Header.Get("Location"))
		drain(resp.Body)
		if err != nil {
			return nil, h.refused(r, "a redirect", err)
		}
		u = next
	}
	return nil, h.failure(r, fmt.Errorf("more than %d redirects: %w", maxHops, ErrRefused))
}

// heed holds all requests to the host back where it says for how long.
func (h *host) heed(resp *http.Response) {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		now := h.c.o.Clock.Now()
		if d := retryAfter(resp.Header.Get("Retry-After"), now); d > 0 {
			h.pace.hold(now, d)
		}
	}
}

// redirects reports whether resp sends r elsewhere, and r can go there.
func redirects(r *request, resp *http.Response) bool {
	if resp.Header.Get("Location") == "" || r.form != "" {
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

// once is one exchange with one host.
func (h *host) once(ctx context.Context, r *request, u *url.URL, authorization string) (*http.Response, error) {
	name := u.Host
	if u.Host == h.addr {
		name = h.name
	}
	transport, err := h.c.transport(name, h.insecure)
	if err != nil {
		return nil, final{err}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	wctx, w := newWatch(ctx, h, r)
	req, err := h.prepare(wctx, w, r, u)
	if err != nil {
		w.stop()
		return nil, err
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		err = h.networkError(ctx, wctx, r, u, err)
		w.stop()
		return nil, err
	}
	if u.Host == h.addr {
		h.answered.Store(true)
		h.gone.Store(false)
		if away, back := h.trouble.over(h.c.o.Clock.Now()); back {
			h.c.o.Log.Warn("a server answers again", "host", h.name, "away", away.Round(time.Millisecond))
		}
	}
	w.answered()
	resp.Request = req
	resp.Body = &answerBody{ReadCloser: resp.Body, ctx: wctx, watch: w}
	return resp, nil
}

// prepare makes the http.Request of one exchange and opens its body.
func (h *host) prepare(ctx context.Context, w *watch, r *request, u *url.URL) (*http.Request, error) {
	var reader io.Reader
	var source *sourceBody
	size := int64(len(r.body) + len(r.form))
	switch {
	case r.open != nil && r.size > 0:
		var err error
		w.pause() // a source that is slow to open is no stall of the registry
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
		req.Body = &sentBody{Reader: reader, ctx: ctx, watch: w, source: source, left: size}
		req.ContentLength = size
	} else if r.method == http.MethodPut {
		w.sent() // the upload, in other requests: now the registry puts it together
	}
	return req.WithContext(ctx), nil
}
