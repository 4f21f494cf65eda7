package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// A Call is a request to an API beside the one of registries, such as the one that creates repositories.
type Call struct {
	Op     string // for errors: "creating the repository ocp/app"
	Method string
	URL    string
	Body   []byte
	// Header returns the header. It is called before each attempt, since a signature may contain the time.
	// Authorization is sent over plain http only to this machine, or if certificates are not verified either.
	Header func() http.Header
	// Limit is the maximum length of the response.
	Limit int64
}

// An Answer is the response to a Call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Call sends a request to an API that is not the one of registries. Retries, certificates, proxies and limits
// are those of requests to registries, so a call must be one that can be repeated. The keychain is not used,
// and redirects are not followed. Every status that is not worth a retry is an Answer.
func (c *Client) Call(ctx context.Context, call Call) (*Answer, error) {
	u, err := webAddress(call.URL)
	if err != nil {
		return nil, err
	}
	h, err := c.host(u.Host, false)
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", call.Op, u.Host, err)
	}
	var out *Answer
	err = c.retry(ctx, func(ctx context.Context) error {
		r := &request{op: call.Op, kind: web, method: call.Method, url: u.String(), header: http.Header{}, body: call.Body, foreign: true, stays: true}
		if call.Header != nil {
			r.header = call.Header()
		}
		if r.header.Get("Authorization") != "" && !h.mayAuthenticate(u) {
			return advice.New(advice.Input, "use https", "%s at %s: credentials are not sent over plain http", call.Op, u.Host)
		}
		resp, err := h.do(ctx, r)
		if err != nil {
			return err
		}
		if temporary(resp.StatusCode) {
			e := h.refusal(r, resp)
			e.Message = withoutSecrets(e.Message, authorizations(r.header)...)
			return e
		}
		body, err := readAll(resp, call.Limit)
		switch {
		case errors.Is(err, errTooLarge):
			return h.failure(r, fmt.Errorf("%w of %d bytes", errTooLarge, call.Limit))
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return h.broken(r, err)
		}
		out = &Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
		return nil
	})
	return out, err
}

// authorizations returns what is secret in a header.
func authorizations(header http.Header) (secret []string) {
	for _, value := range header.Values("Authorization") {
		_, token, _ := strings.Cut(value, " ")
		secret = append(secret, value, token)
	}
	return secret
}
