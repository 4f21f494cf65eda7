package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// A sourceBody is the body of one request of an upload: a part of its source. It keeps the error of
// the source, which would otherwise look like an error of the registry.
type sourceBody struct {
	src    *source
	ctx    context.Context //nolint:containedctx // of the request
	last   bool            // the part ends where the blob does
	left   atomic.Int64    // bytes that are still to be read
	mu     sync.Mutex      // locked while the source is read
	err    error
	once   sync.Once
	closed chan struct{}
}

// Read implements io.Reader.
func (s *sourceBody) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last {
		if p = p[:min(int64(len(p)), s.left.Load())]; len(p) == 0 {
			return 0, io.EOF
		}
	}
	n, err := s.src.Read(p)
	switch left := s.left.Add(-int64(n)); {
	case left < 0:
		err = fmt.Errorf("it is at least %d bytes too long: %w", -left, ErrMismatch)
	case err == io.EOF && left > 0:
		err = fmt.Errorf("it ends %d bytes early: %w", left, ErrMismatch)
	}
	// An error after the end of the request is not the source's own.
	if err != nil && err != io.EOF && s.ctx.Err() == nil {
		s.err = err
	}
	return n, err
}

// Close implements io.Closer. It returns when nothing reads from the source for this request;
// then the next request can read from the source.
func (s *sourceBody) Close() error {
	if s.left.Load() > 0 {
		s.src.cancel()
	}
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.closed)
	})
	return nil
}

func (s *sourceBody) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

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
