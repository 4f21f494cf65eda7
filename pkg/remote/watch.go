package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// errStalled is why a watch cancels its request.
var errStalled = errors.New("no byte moved for too long")

// A watch ends a request on which no byte moves while the network has its turn.
// The time that our side takes, to produce a body or to use one, is not counted.
type watch struct {
	idle   time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func newWatch(ctx context.Context, idle time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{idle: idle, cancel: cancel}
	w.timer = time.AfterFunc(idle, func() { cancel(errStalled) })
	return ctx, w
}

// wait begins the network's turn, pause ends it.
func (w *watch) wait()  { w.timer.Reset(w.idle) }
func (w *watch) pause() { w.timer.Stop() }

// sent gives the registry time to take in what it was sent.
func (w *watch) sent() { w.timer.Reset(5 * w.idle) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// answerBody is a response's body that is watched, counted and limited.
type answerBody struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // that of the request, for its cause
	watch *watch
	h     *host
	done  func() // called once, by Close
	over  atomic.Bool
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.h.bytes != nil {
		p = p[:min(len(p), copyBuffer)]
	}
	b.watch.wait()
	n, err := b.ReadCloser.Read(p)
	b.watch.pause()
	b.h.c.stats.read.Add(int64(n))
	if n > 0 && b.h.bytes != nil {
		if werr := b.h.bytes.WaitN(b.ctx, n); werr != nil && err == nil {
			err = werr
		}
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

func (b *answerBody) Close() error {
	if !b.over.CompareAndSwap(false, true) {
		return nil
	}
	err := b.ReadCloser.Close()
	b.watch.stop()
	if b.done != nil {
		b.done()
	}
	return err
}

// sentBody is a request's body that is watched, counted and limited, and that
// keeps what its source said.
type sentBody struct {
	io.Reader
	ctx    context.Context //nolint:containedctx // that of the request
	watch  *watch
	h      *host
	source *sourceBody
}

func (b *sentBody) Read(p []byte) (int, error) {
	if b.h.bytes != nil {
		p = p[:min(len(p), copyBuffer)]
	}
	b.watch.pause()
	n, err := b.Reader.Read(p)
	b.h.c.stats.wrote.Add(int64(n))
	if n > 0 && b.h.bytes != nil {
		if werr := b.h.bytes.WaitN(b.ctx, n); werr != nil && err == nil {
			err = werr
		}
	}
	if err == io.EOF {
		b.watch.sent()
	} else {
		b.watch.wait()
	}
	return n, err
}

func (b *sentBody) Close() error {
	if b.source == nil {
		return nil
	}
	return b.source.Close()
}

// errTooLarge ends a body that passes its limit.
var errTooLarge = errors.New("the answer is larger than its limit")

// readAll reads a body of at most limit bytes and closes it.
func readAll(resp *http.Response, limit int64) ([]byte, error) {
	defer resp.Body.Close()
	if resp.ContentLength > limit {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, errTooLarge
	}
	return data, err
}
