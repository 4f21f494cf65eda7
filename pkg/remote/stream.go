package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// A sourceBody is what an upload is read from. It keeps the error of its
// source, which would else look like one of the registry.
type sourceBody struct {
	io.Reader
	closer io.Closer
	ctx    context.Context //nolint:containedctx // that of the request
	left   int64           // bytes that are still to come
	mu     sync.Mutex
	err    error
	once   sync.Once
	closed chan struct{}
}

func newSourceBody(ctx context.Context, r io.Reader, c io.Closer, size int64) *sourceBody {
	return &sourceBody{Reader: r, closer: c, ctx: ctx, left: size, closed: make(chan struct{})}
}

func (s *sourceBody) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	switch s.left -= int64(n); {
	case s.left < 0:
		err = fmt.Errorf("it is %d bytes or more too long: %w", -s.left, ErrMismatch)
	case err == io.EOF && s.left > 0:
		err = fmt.Errorf("it ends %d bytes early: %w", s.left, ErrMismatch)
	}
	// A source that ends with its request has nothing to say of its own.
	if err != nil && err != io.EOF && s.ctx.Err() == nil {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
	}
	return n, err
}

func (s *sourceBody) Close() (err error) {
	s.once.Do(func() {
		err = s.closer.Close()
		close(s.closed)
	})
	return err
}

func (s *sourceBody) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// open opens the source of the blob for one attempt.
func (u *upload) open(ctx context.Context) (*sourceBody, error) {
	rc, err := u.source(ctx, 0)
	if err != nil {
		return nil, final{err}
	}
	return newSourceBody(ctx, rc, rc, u.desc.Size), nil
}

// stream sends r with a body of size bytes from open. It returns when nothing
// reads from the source any more; an error of the source goes before what the
// registry made of it.
func (u *upload) stream(ctx context.Context, r *request, size int64, open func(context.Context) (*sourceBody, error)) (*http.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var body *sourceBody
	r.size = size
	r.open = func(rctx context.Context) (*sourceBody, error) {
		if body != nil {
			<-body.closed
		}
		var err error
		body, err = open(rctx)
		return body, err
	}
	resp, err := u.at.h.do(ctx, r)
	if body == nil {
		return resp, err
	}
	if err == nil {
		// The answer is read while the request still lives.
		resp, err = u.keep(r, resp)
	}
	serr := body.failed()
	cancel()
	<-body.closed
	if serr != nil && (err != nil || resp.StatusCode >= 300) {
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

// patch sends the blob with PATCH, in one piece or, where that is too large, in
// chunks (distribution specification, "Pushing a blob in chunks"), and returns
// where the upload is to be completed. Its stream is kept from the first chunk
// to the last, so that who holds a source never waits for a stream.
func (u *upload) patch(ctx context.Context, location string, small bool) (string, error) {
	if err := u.at.h.streams.acquire(ctx); err != nil {
		return location, err
	}
	defer u.at.h.streams.release()
	src, err := u.source(ctx, 0)
	if err != nil {
		return location, final{err}
	}
	defer src.Close()
	piece := u.desc.Size
	if small {
		piece = chunk
	}
	for off := int64(0); off < u.desc.Size; off += piece {
		piece = min(piece, u.desc.Size-off)
		r := u.request(http.MethodPatch, "uploading a part of")
		r.url, r.held = location, true
		r.header.Set("Content-Type", "application/octet-stream")
		if small {
			r.header.Set("Content-Range", fmt.Sprintf("%d-%d", off, off+piece-1))
		}
		part := io.LimitReader(src, piece)
		resp, err := u.stream(ctx, r, piece, func(rctx context.Context) (*sourceBody, error) {
			if part == nil {
				e := u.at.h.failure(r, errors.New("the registry asked for a part twice"))
				e.again = true
				return nil, e
			}
			body := newSourceBody(rctx, part, io.NopCloser(nil), piece)
			part = nil
			return body, nil
		})
		if err != nil {
			return location, err
		}
		if resp.StatusCode != http.StatusAccepted && resp.StatusCode != http.StatusNoContent {
			return location, u.at.h.refusal(r, resp)
		}
		if location, err = u.next(r, resp); err != nil {
			return "", err
		}
	}
	return location, nil
}

// refusesPut reports whether a registry did not take a blob in one PUT, though
// it may take it with PATCH.
func refusesPut(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Code == "DIGEST_INVALID" || e.Code == "SIZE_INVALID" {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusLengthRequired,
		http.StatusUnsupportedMediaType, http.StatusRequestedRangeNotSatisfiable, http.StatusNotImplemented:
		return true
	}
	return refusesSize(err)
}

// refusesSize reports whether a body was too large.
func refusesSize(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusRequestEntityTooLarge
}
