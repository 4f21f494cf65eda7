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

// A sourceBody is the body of one request of an upload: a stretch of its
// source. It keeps the error of the source, which would else look like one of
// the registry.
type sourceBody struct {
	src    *source
	ctx    context.Context //nolint:containedctx // that of the request
	last   bool            // the stretch ends where the blob does
	left   atomic.Int64    // bytes that are still to come
	mu     sync.Mutex      // held while the source is read
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
		err = fmt.Errorf("it is %d bytes or more too long: %w", -left, ErrMismatch)
	case err == io.EOF && left > 0:
		err = fmt.Errorf("it ends %d bytes early: %w", left, ErrMismatch)
	}
	// A source that ends with its request has nothing to say of its own.
	if err != nil && err != io.EOF && s.ctx.Err() == nil {
		s.err = err
	}
	return n, err
}

// Close implements io.Closer. It returns when nothing reads from the source on
// behalf of this request any more; the source itself serves the next one too.
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

// stream sends r with the blob from u.off to a byte as its body, and reads the
// small answer. It returns when nothing reads from the source any more; an error
// of the source goes before what the registry made of it.
func (u *upload) stream(ctx context.Context, r *request, to int64) (*http.Response, error) {
	rctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.held = true
	r.header.Set("Content-Type", "application/octet-stream")
	var body *sourceBody
	if r.size = to - u.off; r.size > 0 {
		// Before the token is sought, which must not run out meanwhile.
		if _, err := u.sourceAt(ctx, u.off); err != nil {
			return nil, err
		}
		r.open = func(rctx context.Context) (*sourceBody, error) {
			if body != nil { // the request is made again, elsewhere or with a new token
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
		// The answer is read while the request still lives.
		resp, err = u.keep(r, resp)
	}
	if body == nil {
		return resp, err
	}
	cancel()
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		body.src.cancel()
		u.broke = u.c.o.Clock.Now()
	}
	<-body.closed
	u.sent = max(u.sent, body.src.next)
	if serr := body.failed(); serr != nil && (err != nil || resp.StatusCode >= http.StatusMultipleChoices) {
		return nil, final{fmt.Errorf("reading what to upload: %w", serr)}
	}
	return resp, err
}

// keep reads the small answer to an upload, so that its request can end.
func (u *upload) keep(r *request, resp *http.Response) (*http.Response, error) {
	data, err := readAll(resp, maxErrorBody)
	if err != nil && !errors.Is(err, errTooLarge) {
		return nil, u.at.h.broken(r, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}
