package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// A watch ends a request that transfers no data while it waits for the network, or less than the
// minimum. The time that our side takes, to produce a body or to use one, does not count: neither
// waiting for a rate limit nor a slow destination. It also measures the time for the
// host's statistics.
type watch struct {
	h            *host
	peer         *peer
	pace         bodyRate
	idle         time.Duration
	timer        *time.Timer
	cancel       context.CancelCauseFunc
	releaseOuter context.CancelFunc // releases the context with the grace period
	began        time.Time
	body         bool          // there is a body to send
	wrote        atomic.Int64  // when its last byte was sent, in nanoseconds after began
	took         time.Duration // from then to the response; 0 if unknown
	store        storing
}

// newWatch watches an exchange of r with p, which may continue for a time after ctx ends.
func newWatch(ctx context.Context, h *host, p *peer, r *request) (context.Context, *watch) {
	w := &watch{h: h, peer: p, idle: h.c.idle(), releaseOuter: func() {}, began: h.c.o.Clock.Now()}
	w.store.most = max(w.idle, r.storing)
	if r.grace > 0 {
		ctx, w.releaseOuter = withGrace(ctx, func() time.Duration {
			if r.size > 0 && w.wrote.Load() == 0 {
				return 0
			}
			return r.grace
		})
	}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(w.idle, func() {
		w.cancel(&stallError{peer: p, idle: w.idle, slow: h.c.o.MinRate > 0 && w.pace.isWaiting()})
	})
	if r.open != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { w.store.conn.Store(tcpOf(i.Conn)) }})
	}
	h.stats.begin(w.began)
	return ctx, w
}

// wait begins the time that the network may take, and pause ends it.
func (w *watch) wait()  { w.timer.Reset(w.idle) }
func (w *watch) pause() { w.timer.Stop() }

// sent begins the time that the registry has to store what it was sent.
func (w *watch) sent() {
	w.wrote.Store(int64(w.h.c.o.Clock.Now().Sub(w.began)) + 1)
	w.pause()
	w.store.begin(w)
}

// answered ends the time with the head of a response. A response before the body was sent says
// nothing about the speed of the host.
func (w *watch) answered() {
	w.pause()
	w.store.end()
	wrote := w.wrote.Load()
	if !w.body || wrote > 0 {
		w.took = max(w.h.c.o.Clock.Now().Sub(w.began)-time.Duration(wrote), 0)
		w.h.stats.answered(w.took)
	}
}

// stop ends the exchange. It is called once.
func (w *watch) stop() {
	w.timer.Stop()
	w.store.end()
	w.cancel(nil)
	w.releaseOuter()
	w.h.stats.end(w.h.c.o.Clock.Now())
}

// tickBytes is how many bytes pass between two calls of tick.
const tickBytes = 1 << 20

// moved counts n bytes that were received or sent.
func (h *host) moved(counter *atomic.Int64, n int) {
	if now := counter.Add(int64(n)); now/tickBytes != (now-int64(n))/tickBytes {
		h.streams.tick(h.c.o.Clock.Now(), h.stats.moved())
	}
}

// A responseBody is the body of a response. It is watched, counted and limited.
type responseBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request, for its cause
	watch  *watch
	done   func() // called once, by Close
	closed atomic.Bool
}

func (b *responseBody) Read(p []byte) (int, error) {
	h := b.watch.h
	b.watch.wait()
	b.watch.pace.wait(h.c)
	n, err := b.ReadCloser.Read(h.in.cut(p))
	b.watch.pause()
	if slow := b.watch.pace.moved(h.c, n); slow != nil {
		b.watch.cancel(slow)
		if err == nil {
			err = slow
		}
	}
	if n > 0 {
		b.watch.peer.heard.Add(1)
	}
	h.moved(&h.stats.read, n)
	if perr := h.in.wait(b.ctx, h.c, n); perr != nil && err == nil {
		err = perr
	}
	if err != nil && err != io.EOF {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

func (b *responseBody) Close() error {
	if !b.closed.CompareAndSwap(false, true) {
		return nil
	}
	err := b.ReadCloser.Close()
	b.watch.stop()
	if b.done != nil {
		b.done()
	}
	return err
}

// A requestBody is the body of a request. It is watched, counted and limited, and keeps the error
// of its source.
type requestBody struct {
	io.Reader
	ctx    context.Context //nolint:containedctx // of the request
	watch  *watch
	source *sourceBody
	left   int64 // bytes that are still to be sent
	piece  pieces
}

func (b *requestBody) Read(p []byte) (int, error) {
	h := b.watch.h
	b.watch.pause()
	if slow := b.piece.sent(b.watch); slow != nil {
		b.watch.cancel(slow)
		return 0, slow
	}
	n, err := b.Reader.Read(b.piece.cut(h.out.cut(p)))
	if perr := h.out.wait(b.ctx, h.c, n); perr != nil {
		return 0, perr // not sent: the last bytes would complete it
	}
	h.moved(&h.stats.wrote, n)
	if b.left -= int64(n); err == io.EOF || err == nil && b.left == 0 {
		b.watch.sent()
	} else {
		b.watch.wait()
		b.piece.sending(b.watch, n)
	}
	return n, err
}

func (b *requestBody) Close() error {
	b.watch.pace.abandon(b.watch.h.c)
	if b.source == nil {
		return nil
	}
	return b.source.Close()
}

// errTooLarge is the error of a body that exceeds its limit.
var errTooLarge = errors.New("the response is larger than its limit")

// maxGrow is how many bytes of memory a response gets before its content arrives.
const maxGrow = 64 << 10

// readAll reads a body of at most limit bytes and closes it.
func readAll(resp *http.Response, limit int64) ([]byte, error) {
	defer resp.Body.Close()
	switch {
	case resp.ContentLength > limit:
		return nil, errTooLarge
	case resp.ContentLength == 0:
		return nil, nil
	}
	var data bytes.Buffer
	if resp.ContentLength > 0 { // and at most limit
		data.Grow(int(min(resp.ContentLength, maxGrow)) + bytes.MinRead)
	}
	_, err := data.ReadFrom(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(data.Len()) > limit {
		return nil, errTooLarge
	}
	return data.Bytes(), err
}

// withGrace returns a context that ends some time after ctx; grace returns how long when ctx ends.
func withGrace(ctx context.Context, late func() time.Duration) (context.Context, context.CancelFunc) {
	outer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(late(), func() { cancel(context.Cause(ctx)) })
		context.AfterFunc(outer, func() { t.Stop() })
	})
	return outer, func() {
		stop()
		cancel(nil)
	}
}
