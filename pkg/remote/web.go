package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
)

// web is the kind of requests to servers that are not registries.
const web = "web"

// Get reads an http or https URL that does not belong to a registry, of at most limit bytes: an
// update graph, a signature. accept is the Accept header; "" sends none. Retries, certificates,
// proxies, limits and the rules for redirects are those of requests to registries. TLS is used if
// the URL begins with https. Credentials are not sent, and a URL with credentials is an error of
// kind advice.Input, as is a malformed one.
//
// Any status but 200 is an *Error, which wraps fs.ErrNotExist for 404. It contains the URL without
// its query.
func (c *Client) Get(ctx context.Context, address, accept string, limit int64) ([]byte, error) {
	return c.readPage(ctx, address, accept, limit, false)
}

// GetAuthenticated is Get with the credential that the keychain has for the host and path of the URL, if
// any. It is sent at once, since servers of files may answer 404 to a request without it. Over plain http it
// is sent only to this machine, or if certificates are not verified either.
func (c *Client) GetAuthenticated(ctx context.Context, address, accept string, limit int64) ([]byte, error) {
	return c.readPage(ctx, address, accept, limit, true)
}

func (c *Client) readPage(ctx context.Context, address, accept string, limit int64, authenticated bool) ([]byte, error) {
	f, err := c.webFile(ctx, address, authenticated)
	if err != nil {
		return nil, err
	}
	var body []byte
	err = c.retry(ctx, func(ctx context.Context) error {
		var err error
		body, err = f.page(ctx, accept, limit)
		return err
	})
	return body, err
}

// webAddress parses a URL. Its errors show nothing of it that may be secret.
func webAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, advice.New(advice.Input, "write it as https://HOST/PATH", "an address is malformed")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, advice.New(advice.Input, "write it as https://HOST/PATH", "the address %s is not http or https", redact.Address(address))
	case u.User != nil:
		return nil, advice.New(advice.Input, "remove them: they are not sent", "the address on %s contains credentials", u.Host)
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment, u.RawFragment = "", ""
	u.Path = cmp.Or(u.Path, "/")
	return u, nil
}

// page is one attempt to read the file as a whole.
func (f *webFile) page(ctx context.Context, accept string, limit int64) ([]byte, error) {
	h, r := f.h, f.request(http.MethodGet)
	if accept != "" {
		r.header.Set("Accept", accept)
	}
	resp, err := h.do(ctx, r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, h.refusal(r, resp)
	}
	body, err := readAll(resp, limit)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, h.failure(r, fmt.Errorf("%w of %d bytes", errTooLarge, limit))
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, h.broken(r, err)
	}
	return body, nil
}

// mayAuthenticate reports whether passwords may be sent to an address.
func (h *host) mayAuthenticate(u *url.URL) bool {
	return u.Scheme == "https" || h.loopback() || h.insecure || h.c.o.PlainHTTP
}
