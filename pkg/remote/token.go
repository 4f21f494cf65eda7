package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// tokenOp is what is done for the operation that follows.
const tokenOp = "fetching a token for "

// maxToken limits the response of a token endpoint, in bytes.
const maxToken = 1 << 20

// A token is an access token of this run.
type token struct {
	value   string
	number  int // of the host's tokens: later ones have higher numbers
	scopes  []string
	worked  *atomic.Bool // whether the registry accepted it for what it was requested for
	expires time.Time
}

// pull and push return the scopes of a repository.
func pull(path string) string { return "repository:" + path + ":pull" }
func push(path string) string { return "repository:" + path + ":pull,push" }

// An authorization is what authorizes a request.
type authorization struct {
	header     string              // Authorization; "" for none
	credential keychain.Credential // the credential in it, if it is a password
	token      token               // number 0 if none was fetched
}

// authorize returns the authorization for r.
func (h *host) authorize(ctx context.Context, r *request) (authorization, error) {
	switch ch := h.asks(); ch.scheme {
	case "basic":
		cred, err := h.credential(ctx, r.repo)
		if err != nil || cred.Anonymous() {
			return authorization{}, err
		}
		if cred.RegistryToken != "" {
			return authorization{header: "Bearer " + cred.RegistryToken}, nil
		}
		return authorization{header: basic(cred), credential: cred}, nil
	case "bearer":
		t, err := h.token(ctx, ch, r)
		if err != nil || t.value == "" {
			return authorization{}, err
		}
		return authorization{header: "Bearer " + t.value, token: t}, nil
	}
	return authorization{}, nil
}

// token returns a token with the scopes of r: one that is valid for a while, or a new one.
// Concurrent requests fetch only one.
func (h *host) token(ctx context.Context, ch challenge, r *request) (token, error) {
	if t := h.cached(r); t.value != "" {
		return t, nil
	}
	h.mu.Lock()
	g := h.tokenGates[r.repo]
	if g == nil {
		g = newGate()
		h.tokenGates[r.repo] = g
	}
	h.mu.Unlock()
	if err := g.enter(ctx); err != nil {
		return token{}, err
	}
	defer g.leave()
	if t := h.cached(r); t.value != "" {
		return t, nil
	}
	cred, err := h.credential(ctx, r.repo)
	if err != nil || cred.RegistryToken != "" {
		return token{value: cred.RegistryToken}, err
	}
	var t token
	err = h.c.retry(ctx, func(ctx context.Context) error {
		t, err = h.fetchToken(ctx, ch, cred, r)
		return err
	})
	if err != nil {
		return token{}, permanentError{err}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.issued++
	t.number, t.worked = h.issued, &atomic.Bool{}
	h.tokens[r.repo] = append(h.tokens[r.repo], t)
	return t, nil
}

// cached returns a token of the repository with the scopes of r, and drops tokens that are about to
// expire.
func (h *host) cached(r *request) token {
	now := h.c.o.Clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[r.repo] = slices.DeleteFunc(h.tokens[r.repo], func(t token) bool { return !now.Before(t.expires) })
	for _, t := range h.tokens[r.repo] {
		if t.covers(r.scopes) {
			return t
		}
	}
	return token{}
}

// covers reports whether t was requested with all of the scopes, or with more.
func (t token) covers(scopes []string) bool {
	for _, s := range scopes {
		wide := strings.TrimSuffix(s, ":pull") + ":pull,push"
		if !slices.Contains(t.scopes, s) && !slices.Contains(t.scopes, wide) {
			return false
		}
	}
	return true
}

// dropTokens drops a token that the registry did not accept, by its number, and older tokens of the
// repository with other scopes, which it would not accept either. It returns the number of the last
// token.
func (h *host) dropTokens(path string, number int) (last int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[path] = slices.DeleteFunc(h.tokens[path], func(t token) bool { return t.number <= number })
	return h.issued
}

// fetchToken requests a token: with GET and user and password or anonymously, with POST and an
// identity token (token and oauth specifications of distribution).
func (h *host) fetchToken(ctx context.Context, ch challenge, cred keychain.Credential, r *request) (token, error) {
	realm, err := h.resolveURL(h.base()+"/v2/", ch.params["realm"])
	if err != nil {
		return token{}, h.refused(r, "the token realm", err)
	}
	if !cred.Anonymous() && !h.maySendTo(realm) {
		e := h.refused(r, "the token realm", fmt.Errorf("credentials for %s are not sent to http://%s, another host, without TLS: %w", h.name, realm.Host, ErrRefused))
		e.Hint = "if both are the same server, use the name of the realm for the registry; otherwise give the realm an https address"
		return token{}, e
	}
	tr := &request{op: tokenOp + r.op, kind: "token", repo: r.repo, scopes: r.scopes, method: http.MethodGet, header: http.Header{}, foreign: true}
	query := realm.Query()
	if s := ch.params["service"]; s != "" {
		query.Set("service", s)
	}
	authorization := ""
	if cred.IdentityToken != "" {
		query.Set("grant_type", "refresh_token")
		query.Set("client_id", "gantry")
		query.Set("refresh_token", cred.IdentityToken)
		query.Set("scope", strings.Join(r.scopes, " "))
		tr.method, tr.form = http.MethodPost, query.Encode()
		tr.header.Set("Content-Type", "application/x-www-form-urlencoded")
		realm.RawQuery = ""
	} else {
		for _, s := range r.scopes {
			query.Add("scope", s)
		}
		if !cred.Anonymous() {
			authorization = basic(cred)
		}
		realm.RawQuery = query.Encode()
	}
	tr.url = realm.String()
	if err := h.admit(ctx); err != nil {
		return token{}, err
	}
	resp, err := h.sendCredential(ctx, cred, tr, authorization)
	if err != nil {
		return token{}, err
	}
	if usual := usualScopes(r.scopes); resp.StatusCode == http.StatusBadRequest && len(usual) < len(r.scopes) {
		drain(resp.Body)
		narrow := *r
		narrow.scopes = usual
		t, err := h.fetchToken(ctx, ch, cred, &narrow)
		t.scopes = slices.Clone(r.scopes)
		return t, err
	}
	if resp.StatusCode != http.StatusOK {
		return token{}, h.refusal(tr, resp)
	}
	body, err := readAll(resp, maxToken)
	if err != nil {
		return token{}, h.broken(tr, err)
	}
	t, err := parseToken(body, h.c.o.Clock.Now())
	if err != nil {
		e := h.failure(tr, err)
		if e.Hint = "check the token service " + realm.Host + realm.Path + ", which the registry names"; isPage(body) {
			e.Message = "the response of the token endpoint is a web page, not a JSON token"
		}
		return token{}, e
	}
	t.scopes = slices.Clone(r.scopes)
	return t, nil
}

// usualScopes returns the scopes to pull and to push. Quay knows no others: a token to push permits to delete there, and one
// without scopes to list repositories.
func usualScopes(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !strings.HasSuffix(s, ":pull") && !strings.HasSuffix(s, ":pull,push") })
}

// maySendTo reports whether credentials for the registry are sent to its token realm: with TLS, or to the host of the
// registry itself or this machine.
func (h *host) maySendTo(realm *url.URL) bool {
	return realm.Scheme == "https" || hostOnly(realm.Host) == hostOnly(h.addr) || loopbackName(realm.Host)
}

// parseToken parses the response of a token endpoint. Its errors show nothing of it.
func parseToken(body []byte, now time.Time) (token, error) {
	var response struct {
		Token       string  `json:"token"`
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if json.Unmarshal(body, &response) != nil {
		return token{}, errors.New("the response of the token endpoint is not a JSON token")
	}
	t := token{value: cmp.Or(response.Token, response.AccessToken)}
	if t.value == "" {
		return token{}, errors.New("the response of the token endpoint contains no token")
	}
	if strings.ContainsFunc(t.value, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return token{}, errors.New("the response of the token endpoint contains a token that cannot be sent in a header")
	}
	// Without expires_in, a token is valid for a minute. It is renewed when a tenth of that is
	// left, because requests take time, too.
	life := cmp.Or(min(max(response.ExpiresIn, 0), 24*60*60), 60)
	t.expires = now.Add(time.Duration(life * 0.9 * float64(time.Second)))
	return t, nil
}
