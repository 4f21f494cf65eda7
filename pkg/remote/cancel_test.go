package remote_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// blockedSource gives a few bytes and then waits for the end of its context.
type blockedSource struct {
	ctx    context.Context
	first  io.Reader
	began  chan struct{}
	closed atomic.Bool
}

func (b *blockedSource) Read(p []byte) (int, error) {
	if n, err := b.first.Read(p); err == nil {
		return n, nil
	}
	close(b.began)
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b *blockedSource) Close() error {
	b.closed.Store(true)
	return nil
}

// A canceled upload returns when its source is closed, and the registry is asked to delete it.
func TestCancelledUpload(t *testing.T) {
	u := &uploadServer{sessions: map[string][]byte{}, blobs: map[string][]byte{}}
	s := startRegistry(t, func(http.Handler) http.Handler { return u })
	c := newClient(t, remote.Options{Side: remote.Destination})
	ctx, cancel := context.WithCancel(t.Context())
	source := &blockedSource{first: bytes.NewReader(make([]byte, 1000)), began: make(chan struct{})}
	go func() {
		<-source.began
		cancel()
	}()
	_, err := c.PushBlob(ctx, repoAt(s, "a"), describe(make([]byte, 1<<20)), nil, func(ctx context.Context, _ int64) (io.ReadCloser, error) {
		source.ctx = ctx
		return source, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("want context.Canceled, got %v", err)
	}
	if !source.closed.Load() {
		t.Error("the source is still open")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.sessions) > 0 || len(u.blobs) > 0 {
		t.Errorf("%d uploads stay open, %d blobs are there", len(u.sessions), len(u.blobs))
	}
}
