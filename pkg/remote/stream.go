package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// stream sends r with the blob from u.off to a byte as its body, and reads the small response. It
// returns when nothing reads from the source. An error of the source has precedence over
// the response of the registry.
func (u *upload) stream(ctx context.Context, r *request, to int64) (*http.Response, error) {
	rctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.hasStream = true
	r.header.Set("Content-Type", "application/octet-stream")
	var body *sourceBody
	if r.size = to - u.off; r.size > 0 {
		// Before the token is fetched, which must not expire meanwhile.
		if _, err := u.sourceAt(ctx, u.off); err != nil {
			return nil, err
		}
		r.open = func(rctx context.Context) (*sourceBody, error) {
			if body != nil { // the request is repeated, elsewhere or with a new token
				<-body.closed
			}
			src, err := u.sourceAt(ctx, u.off)
			if err != nil {
				return nil, err
			}
			body = &sourceBody{src: src, ctx: rctx, last: to == u.desc.Size, closed: make(chan struct{})}
			body.left.Store(r.size)
			return body, nil
		}
	}
	resp, err := u.at.h.do(rctx, r)
	if err == nil {
		// The response is read before the request's context ends.
		resp, err = u.bufferResponse(r, resp)
	}
	if body == nil {
		return resp, err
	}
	cancel()
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		body.src.cancel()
		u.brokeAt = u.c.o.Clock.Now()
	}
	<-body.closed
	u.sent = max(u.sent, body.src.next)
	if serr := body.failed(); serr != nil && (err != nil || resp.StatusCode >= http.StatusMultipleChoices) {
		return nil, permanentError{fmt.Errorf("reading the content to upload: %w", serr)}
	}
	return resp, err
}

// bufferResponse reads the small response to an upload, so that its request can end.
func (u *upload) bufferResponse(r *request, resp *http.Response) (*http.Response, error) {
	data, err := readAll(resp, maxErrorBody)
	if err != nil && !errors.Is(err, errTooLarge) {
		return nil, u.at.h.broken(r, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}
