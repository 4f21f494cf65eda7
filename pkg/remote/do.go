package remote

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

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
// Tokens from before that response may have expired like the first and do not count. Harbor asks for
// a password when a token has expired: a token that worked before is replaced. One that never did is not: each new one sends
// the password, and some hosts lock an account after a few wrong ones.
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
	r.url = cmp.Or(r.url, h.base()+r.path)
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
		number := t.token.number
		if err == nil && resp.StatusCode != http.StatusUnauthorized && number > 0 && (token{scopes: r.scopes}).covers(t.token.scopes) {
			t.token.worked.Store(true)
		}
		old := 0 < number && number <= last
		if err != nil || resp.StatusCode != http.StatusUnauthorized || !first && !old || !h.learnChallenge(r, resp, t.header) && !h.hasEnded(t.token, resp) {
			return resp, err
		}
		drain(resp.Body)
		if issued := h.dropTokens(r.repo, number); first {
			first, last = false, issued
		}
	}
}

// hasEnded reports whether the registry refuses a token that it accepted before.
func (h *host) hasEnded(t token, resp *http.Response) bool {
	return t.number > 0 && t.worked.Load() && resp.Request.URL.Host == h.addr
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
