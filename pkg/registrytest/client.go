package registrytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Client talks to one registry according to the distribution specification. It shares no code
// with Gantry: no retries, no credentials of the user, no proxies.
type Client struct {
	http               *http.Client
	scheme, host       string
	username, password string

	mu     sync.Mutex
	tokens map[string]string // by repository
	basic  bool              // the registry asks for the password
}

// NewClient returns a client of an open registry that speaks plain http.
func NewClient(host string) *Client {
	return &Client{
		http:   &http.Client{Transport: &http.Transport{}, CheckRedirect: redirected},
		scheme: "http", host: host, tokens: map[string]string{},
	}
}

// redirected keeps credentials from other hosts. net/http compares only the host's name, and two
// ports of loopback are two hosts here.
func redirected(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host {
		r.Header.Del("Authorization")
	}
	if len(via) > 3 {
		return errors.New("redirected too often")
	}
	return nil
}

// A request is a request to a path below the registry's /v2/, or to a Location.
type request struct {
	method     string
	repository string
	path       string // below /v2/<repository>/, or a whole address
	header     http.Header
	body       func() io.Reader // nil means no body
	length     int64
}

// do sends the request and returns a response with one of the wanted codes.
func (c *Client) do(ctx context.Context, r request, want ...int) (*http.Response, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	for attempt := 1; attempt < 3 && resp.StatusCode == http.StatusUnauthorized; attempt++ {
		challenge := resp.Header.Get("WWW-Authenticate")
		_ = resp.Body.Close()
		if err := c.authenticate(ctx, r.repository, challenge); err != nil {
			return nil, err
		}
		if resp, err = c.send(ctx, r); err != nil {
			return nil, err
		}
	}
	if slices.Contains(want, resp.StatusCode) {
		return resp, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	_ = resp.Body.Close()
	return nil, fmt.Errorf("%s %s: %s: %s", r.method, resp.Request.URL.Redacted(), resp.Status, strings.TrimSpace(string(text)))
}

func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	address := r.path
	if !strings.Contains(address, "://") {
		base := c.scheme + "://" + c.host
		if !strings.HasPrefix(address, "/") {
			base += "/v2/" + r.repository + "/"
		}
		address = base + address
	}
	var body io.Reader
	if r.body != nil {
		body = r.body()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.header)
	if r.body != nil {
		req.ContentLength = r.length
	}
	c.mu.Lock()
	token, basic := c.tokens[r.repository], c.basic
	c.mu.Unlock()
	switch {
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	case basic:
		req.SetBasicAuth(c.username, c.password)
	}
	return c.http.Do(req)
}

var challengeField = regexp.MustCompile(`(realm|service|scope)="([^"]*)"`)

// authenticate answers a challenge for the repository. A token that is refused is dropped.
func (c *Client) authenticate(ctx context.Context, repository, challenge string) error {
	scheme, _, _ := strings.Cut(challenge, " ")
	if c.username != "" && strings.EqualFold(scheme, "Bearer") {
		return c.fetchToken(ctx, repository, challenge)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.username == "" || c.basic || !strings.EqualFold(scheme, "Basic") && c.tokens[repository] == "" {
		return fmt.Errorf("%s requires credentials (%q) and refuses those of the test", c.host, challenge)
	}
	c.basic = c.tokens[repository] == ""
	delete(c.tokens, repository)
	return nil
}

// fetchToken answers a Bearer challenge for the repository.
func (c *Client) fetchToken(ctx context.Context, repository, challenge string) error {
	fields := map[string]string{}
	for _, m := range challengeField.FindAllStringSubmatch(challenge, -1) {
		fields[m[1]] = m[2]
	}
	// Request the scope of this request, which for a mount is more than the repository, and that of
	// later requests.
	scopes := append(strings.Fields(fields["scope"]), "repository:"+repository+":pull,push")
	query := url.Values{"service": {fields["service"]}, "scope": scopes}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fields["realm"]+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	req.SetBasicAuth(c.username, c.password)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct{ Token string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil || answer.Token == "" {
		return errors.Join(fmt.Errorf("asking for a token at %s: %s", fields["realm"], resp.Status), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens[repository] = answer.Token
	return nil
}
