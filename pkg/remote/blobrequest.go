package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

func (b *blob) request(method, op string) *request {
	if b.file != nil {
		return b.file.request(method)
	}
	return &request{
		op: op + " " + b.desc.Digest.String(), kind: "blob", method: method, repo: b.at.ref.Path,
		scopes:    []string{pull(b.at.ref.Path)},
		path:      "/v2/" + b.at.ref.Path + "/blobs/" + b.desc.Digest.String(),
		header:    http.Header{},
		hasStream: b.hasStream,
	}
}

// A webFile is a file at an http or https address that does not belong to a registry.
type webFile struct {
	h             *host
	url           *url.URL
	authenticated bool // the credential is sent, if there is one
	credential    keychain.Credential
	validator     string // of the first response
}

func (f *webFile) request(method string) *request {
	return &request{
		op: "reading " + f.url.EscapedPath(), kind: web, method: method,
		url: f.url.String(), header: http.Header{}, foreign: true, authenticated: f.authenticated, credential: f.credential,
	}
}

// validatorOf returns what If-Range can have (RFC 9110, 13.1.5): a strong ETag, or else the time of the last change.
func validatorOf(resp *http.Response) string {
	v := resp.Header.Get("ETag")
	if v == "" || strings.HasPrefix(v, "W/") {
		v = resp.Header.Get("Last-Modified")
	}
	if len(v) > maxValidator {
		return ""
	}
	return v
}

// open requests the rest of the blob.
func (b *blob) open(ctx context.Context) error {
	r := b.request(http.MethodGet, "reading the blob")
	if b.off > 0 {
		// Both ends: some registries do not support a range without the second.
		r.header.Set("Range", fmt.Sprintf("bytes=%d-%d", b.off, b.desc.Size-1))
		if b.version != "" {
			r.header.Set("If-Range", b.version)
		}
	}
	resp, err := b.at.h.do(ctx, r)
	if err == nil && b.off > 0 && b.rangeRefused(resp) {
		drain(resp.Body)
		r.header.Del("Range")
		r.header.Del("If-Range")
		resp, err = b.at.h.do(ctx, r)
	}
	if err != nil {
		return err
	}
	if b.version != "" && resp.StatusCode == http.StatusOK {
		_ = resp.Body.Close()
		return b.at.h.failure(r, ErrChanged)
	}
	rest, total := b.desc.Size, b.desc.Size
	b.ends = b.desc.Size
	switch {
	case resp.StatusCode == http.StatusPartialContent && r.header.Get("Range") != "":
		rest -= b.off
		if _, said := contentRange(resp); said >= 0 {
			total = said
		}
		if n := resp.ContentLength; n > 0 && n < rest {
			rest, b.ends = n, b.off+n // less than requested: the next request continues there
		}
	case resp.StatusCode != http.StatusOK:
		return b.at.h.refusal(r, resp)
	}
	if resp.ContentLength >= 0 && resp.ContentLength != rest {
		total = resp.ContentLength + b.desc.Size - rest
	}
	if total != b.desc.Size {
		_ = resp.Body.Close()
		return b.at.h.failure(r, fmt.Errorf("the server has %d bytes of it and %d were expected: %w", total, b.desc.Size, ErrMismatch))
	}
	if resp.StatusCode == http.StatusOK && b.off > 0 {
		// The registry ignores Range: skip what was already read.
		if _, err := io.CopyN(io.Discard, resp.Body, b.off); err != nil {
			_ = resp.Body.Close()
			return b.at.h.broken(r, err)
		}
	}
	b.body, b.version = resp.Body, ""
	if b.file != nil && b.file.validator == "" {
		b.file.validator = validatorOf(resp)
	}
	return nil
}

// rangeRefused reports whether the blob has to be requested completely: no such range, or another
// one.
func (b *blob) rangeRefused(resp *http.Response) bool {
	if resp.StatusCode == http.StatusPartialContent {
		first, _ := contentRange(resp)
		return first != b.off
	}
	return resp.StatusCode == http.StatusRequestedRangeNotSatisfiable
}

// contentRange parses "bytes 100-199/200": the first byte is 100 and the size 200; -1 means
// unknown.
func contentRange(resp *http.Response) (first, total int64) {
	s, _ := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	part, length, _ := strings.Cut(s, "/")
	begin, _, dash := strings.Cut(part, "-")
	first, err := strconv.ParseInt(begin, 10, 64)
	if err != nil || !dash || first < 0 {
		return -1, -1
	}
	if total, err = strconv.ParseInt(length, 10, 64); err != nil {
		total = -1
	}
	return first, total
}
