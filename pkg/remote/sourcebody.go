package remote

import (
	"context"
	"fmt"
	"io"
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
