package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// web is the kind of a request to what is no registry.
const web = "web"

// Get reads what is at an address of http or https that is no registry's, of at
// most limit bytes: an update graph, a signature. It is asked for with this
// Accept header ("" sends none), and again as requests to registries are;
// certificates, proxies, limits and the rules for redirects are theirs, too.
// Whether TLS is spoken, the address says. Credentials are never sent, and an
// address that holds some is an error.
//
// Any answer but 200 is an *Error; it wraps fs.ErrNotExist for 404. It names the
// address without its query.
func (c *Client) Get(ctx context.Context, address, accept string, limit int64) ([]byte, error) {
	u, err := webAddress(address)
	if err != nil {
		return nil, err
	}
	h, err := c.host(u.Host, false)
	if err != nil {
		return nil, fmt.Errorf("reading %s at %s: %w", u.EscapedPath(), u.Host, err)
	}
	var body []byte
	err = c.retry(ctx, func(ctx context.Context) error {
		var err error
		body, err = h.page(ctx, u, accept, limit)
		return err
	})
	return body, err
}

// An AddressError says why nothing can be asked for at an address, and shows nothing of
// it that may be secret.
type AddressError struct{ reason string }

func (e *AddressError) Error() string { return e.reason }

// webAddress reads an address; what is wrong with it is an [AddressError].
func webAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, &AddressError{"an address is malformed: give one as https://HOST/PATH"}
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		u.RawQuery, u.Fragment = "", ""
		return nil, &AddressError{fmt.Sprintf("the address %s is not one of http or https: give one as https://HOST/PATH", u.Redacted())}
	case u.User != nil:
		return nil, &AddressError{fmt.Sprintf("the address on %s holds credentials, which are not sent: give it without", u.Host)}
	}
	u.Host = strings.ToLower(u.Host)
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// page is one attempt to read what is at u.
func (h *host) page(ctx context.Context, u *url.URL, accept string, limit int64) ([]byte, error) {
	r := &request{
		op: "reading " + u.EscapedPath(), kind: web, method: http.MethodGet,
		url: u.String(), header: http.Header{}, foreign: true,
	}
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
