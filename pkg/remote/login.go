package remote

import (
	"context"
	"net/http"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// Login shows the registry at host the credential that the keychain has for the
// repository path there, which may be "", and asks for nothing. asked is false
// where the registry lets everybody at its API's root, so that the credential
// could not be tried. A credential that it does not accept is ErrUnauthorized.
func (c *Client) Login(ctx context.Context, host, path string) (asked bool, err error) {
	at, err := c.destination(reference.Reference{Host: host, Path: strings.Trim(path, "/")})
	if err != nil {
		return false, err
	}
	err = c.retry(ctx, func(ctx context.Context) error {
		r := &request{op: "logging in", kind: "ping", method: http.MethodGet, repo: at.ref.Path, path: "/v2/"}
		resp, err := at.h.do(ctx, r)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return at.h.refusal(r, resp)
		}
		drain(resp.Body)
		return nil
	})
	at.h.mu.Lock()
	defer at.h.mu.Unlock()
	return at.h.challenge.scheme != "", err
}

// Meet finds out how the host of ref is spoken to and what credentials it asks
// for, which else the first request there waits for. It shows none. What goes
// wrong the requests that follow tell.
func (c *Client) Meet(ctx context.Context, ref reference.Reference) {
	if at, err := c.destination(ref); err == nil {
		_ = at.h.probe(ctx)
	}
}
