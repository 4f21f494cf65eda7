package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/keychain"
)

// maxToken bounds the answer of a token endpoint, in bytes.
const maxToken = 1 << 20

// A token is an access token of the run.
type token struct {
	value   string
	number  int // of all that the host was given: later ones have higher numbers
	scopes  []string
	expires time.Time
}

// pull and push are the scopes of a repository.
func pull(path string) string { return "repository:" + path + ":pull" }
func push(path string) string { return "repository:" + path + ":pull,push" }

// A ticket is what a request is sent with.
type ticket struct {
	header string              // Authorization; "" for none
	shown  keychain.Credential // whose password is in it
	number int                 // of the token; 0: it was not asked for in this run
}

// authorize finds what r is to be sent with.
func (h *host) authorize(ctx context.Context, r *request) (ticket, error) {
	h.mu.Lock()
	ch := h.challenge
	h.mu.Unlock()
	switch ch.scheme {
	case "basic":
		cred, err := h.credential(ctx, r.repo)
		if err != nil || cred.Anonymous() {
			return ticket{}, err
		}
		if cred.RegistryToken != "" {
			return ticket{header: "Bearer " + cred.RegistryToken}, nil
		}
		return ticket{header: basic(cred), shown: cred}, nil
	case "bearer":
		t, err := h.token(ctx, ch, r)
		if err != nil || t.value == "" {
			return ticket{}, err
		}
		return ticket{header: "Bearer " + t.value, number: t.number}, nil
	}
	return ticket{}, nil
}

func basic(cred keychain.Credential) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(cred.Username+":"+cred.Password))
}

func (h *host) credential(ctx context.Context, path string) (keychain.Credential, error) {
	if h.c.o.Keychain == nil {
		return keychain.Credential{}, nil
	}
	cred, err := h.c.o.Keychain.Credential(ctx, h.name, path)
	if err != nil {
		return cred, final{fmt.Errorf("finding credentials for %s: %w", h.name, err)}
	}
	return cred, nil
}

// token returns a token that covers the scopes of r: one that is there and
// valid for a while, or a new one, fetched once however many ask for it.
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
		return token{}, final{err}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.issued++
	t.number = h.issued
	h.tokens[r.repo] = append(h.tokens[r.repo], t)
	return t, nil
}

// cached returns a token of the repository that covers r, and drops those that
// are about to expire.
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

// covers reports whether t was asked for with all of the scopes, or with more.
func (t token) covers(scopes []string) bool {
	for _, s := range scopes {
		wide := strings.TrimSuffix(s, ":pull") + ":pull,push"
		if !slices.Contains(t.scopes, s) && !slices.Contains(t.scopes, wide) {
			return false
		}
	}
	return true
}

// forget drops the token of a number that a registry did not accept, and the older
// ones of the repository, with other scopes, which it would not accept either. It
// returns the number of the last token that there was.
func (h *host) forget(path string, number int) (last int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[path] = slices.DeleteFunc(h.tokens[path], func(t token) bool { return t.number <= number })
	return h.issued
}

// fetchToken asks the token endpoint: with GET and name and password or
// anonymously, with POST where there is an identity token (distribution's
// token and oauth specifications).
func (h *host) fetchToken(ctx context.Context, ch challenge, cred keychain.Credential, r *request) (token, error) {
	realm, err := h.target(h.base()+"/v2/", ch.params["realm"])
	if err != nil {
		return token{}, h.refused(r, "the token realm", err)
	}
	tr := &request{op: "fetching a token for " + r.op, kind: "token", repo: r.repo, method: http.MethodGet, header: http.Header{}, foreign: true}
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
	resp, err := h.show(ctx, cred, tr, authorization)
	if err != nil {
		return token{}, err
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
		return token{}, h.failure(tr, err)
	}
	t.scopes = slices.Clone(r.scopes)
	return t, nil
}

// parseToken reads the answer of a token endpoint. Its errors show nothing of
// it.
func parseToken(body []byte, now time.Time) (token, error) {
	var answer struct {
		Token       string  `json:"token"`
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return token{}, errors.New("the token endpoint's answer is not the JSON of a token")
	}
	t := token{value: answer.Token}
	if t.value == "" {
		t.value = answer.AccessToken
	}
	if t.value == "" {
		return token{}, errors.New("the token endpoint's answer holds no token")
	}
	if strings.ContainsFunc(t.value, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return token{}, errors.New("the token endpoint's answer holds a token that cannot be a header")
	}
	// Without expires_in a token lives for a minute. It is renewed when a
	// tenth of that is left: time passes on the way too.
	life := min(max(answer.ExpiresIn, 0), 24*60*60)
	if life == 0 {
		life = 60
	}
	t.expires = now.Add(time.Duration(life * 0.9 * float64(time.Second)))
	return t, nil
}

// sameHost reports whether two URLs are at one origin.
func sameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}
