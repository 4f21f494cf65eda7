package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// webFile returns the file at an address, if it is authenticated with the credential for its host and path.
func (c *Client) webFile(ctx context.Context, address string, authenticated bool) (*webFile, error) {
	u, err := webAddress(address)
	if err != nil {
		return nil, err
	}
	h, err := c.host(u.Host, false)
	if err != nil {
		return nil, fmt.Errorf("reading %s at %s: %w", u.EscapedPath(), u.Host, err)
	}
	f := &webFile{h: h, url: u, authenticated: authenticated}
	if authenticated && h.mayAuthenticate(u) {
		if f.credential, err = h.credential(ctx, strings.Trim(u.Path, "/")); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// WebFile is Blob for a file at an http or https address: it opens the file from an offset for reading
// once, compares its size with desc, and from offset 0 its digest, and continues a body that breaks off.
// Credentials are those of GetAuthenticated.
//
// The reader has a method Validator: it names the version of the file that the server has, "" if the server does
// not say.
func (c *Client) WebFile(ctx context.Context, address string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	return c.ContinueWebFile(ctx, address, desc, offset, "")
}

// ContinueWebFile is WebFile for a file whose first bytes, up to the offset, were read in an earlier run, when the
// server had the version that validator names. If it has another one now, the error matches ErrChanged. With an
// empty validator, only the digest shows whether the bytes belong together.
func (c *Client) ContinueWebFile(ctx context.Context, address string, desc ocispec.Descriptor, offset int64, validator string) (io.ReadCloser, error) {
	f, err := c.webFile(ctx, address, true)
	if err != nil {
		return nil, err
	}
	b, err := c.newBlob(ctx, f.url.Host, desc, offset)
	if err != nil {
		return nil, err
	}
	if offset == desc.Size && offset > 0 {
		return http.NoBody, nil
	}
	b.file, b.at, b.version = f, hostRef{h: f.h}, validator
	if err := c.retry(ctx, b.open); err != nil {
		return nil, err
	}
	return b, nil
}

// Validator returns the validator of the version that is read.
func (b *blob) Validator() string {
	if b.file == nil {
		return ""
	}
	return b.file.validator
}

// maxValidator is how many bytes a validator has at most; longer ones are not used.
const maxValidator = 1 << 10

// WebSize returns the size of the file at an http or https address in bytes, or -1 if the server does not
// send it. It sends HEAD, and GET to a server that does not answer that, or with 0; the body is not read.
func (c *Client) WebSize(ctx context.Context, address string) (int64, error) {
	size := int64(-1)
	err := c.openWeb(ctx, address, []string{http.MethodHead, http.MethodGet}, func(resp *http.Response) { size = resp.ContentLength })
	return size, err
}

// WebBody opens the file at an http or https address, whatever its size. A body that breaks off is an
// error.
func (c *Client) WebBody(ctx context.Context, address string) (io.ReadCloser, error) {
	var body io.ReadCloser
	err := c.openWeb(ctx, address, []string{http.MethodGet}, func(resp *http.Response) { body, resp.Body = resp.Body, http.NoBody })
	return body, err
}

// openWeb requests a file with each method until see was called with the response 200 and its size is
// known, or with the last. It closes bodies that see does not take.
func (c *Client) openWeb(ctx context.Context, address string, methods []string, see func(*http.Response)) error {
	f, err := c.webFile(ctx, address, true)
	if err != nil {
		return err
	}
	for i, method := range methods {
		sized := false
		err = c.retry(ctx, func(ctx context.Context) error {
			r := f.request(method)
			resp, err := f.h.do(ctx, r)
			if err != nil {
				return err
			}
			if resp.StatusCode != http.StatusOK {
				return f.h.refusal(r, resp)
			}
			sized = resp.ContentLength > 0 // some servers answer 0 to any HEAD
			if sized || i == len(methods)-1 {
				see(resp)
			}
			return resp.Body.Close()
		})
		if sized || ctx.Err() != nil {
			break
		}
	}
	return err
}
