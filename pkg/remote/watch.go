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
// It keeps the time of its host's statistics too.
type watch struct {
	h      *host
	idle   time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
	leave  context.CancelFunc // of the context that it outlives
	began  time.Time
	body   bool          // there is one to send
	wrote  atomic.Int64  // when the last byte of it was, in nanoseconds after began
	took   time.Duration // from then to the answer; 0: not known
}

// newWatch watches an exchange of r, which may go on for a time after ctx ends.
func newWatch(ctx context.Context, h *host, r *request) (context.Context, *watch) {
	w := &watch{h: h, idle: h.c.o.IdleTimeout, leave: func() {}, began: h.c.o.Clock.Now()}
	if r.late > 0 {
		ctx, w.leave = outliving(ctx, func() time.Duration {
			if r.size > 0 && w.wrote.Load() == 0 {
				return 0
			}
			return r.late
		})
	}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(w.idle, func() { w.cancel(errStalled) })
	h.stats.begin(w.began)
	return ctx, w
}

// wait begins the network's turn, pause ends it.
func (w *watch) wait()  { w.timer.Reset(w.idle) }
func (w *watch) pause() { w.timer.Stop() }

// sent gives the registry time to take in what it was sent.
func (w *watch) sent() {
	w.wrote.Store(int64(w.h.c.o.Clock.Now().Sub(w.began)) + 1)
	w.timer.Reset(5 * w.idle)
}

// answered ends the network's turn with the head of an answer. One that came
// before the body was sent tells nothing of the time that the host takes.
func (w *watch) answered() {
	w.pause()
	wrote := w.wrote.Load()
	if !w.body || wrote > 0 {
		w.took = max(w.h.c.o.Clock.Now().Sub(w.began)-time.Duration(wrote), 0)
		w.h.stats.answered(w.took)
	}
}

// stop ends the exchange. It is called once.
func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
	w.leave()
	w.h.stats.end(w.h.c.o.Clock.Now())
}

// tickBytes is how many bytes pass between two looks at the clock.
const tickBytes = 1 << 20

// moved counts n bytes, received or sent.
func (h *host) moved(counter *atomic.Int64, n int) {
	if now := counter.Add(int64(n)); now/tickBytes != (now-int64(n))/tickBytes {
		h.streams.tick(h.c.o.Clock.Now(), h.stats.moved())
	}
}

// answerBody is a response's body that is watched, counted and limited.
type answerBody struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // that of the request, for its cause
	watch *watch
	done  func() // called once, by Close
	over  atomic.Bool
}

func (b *answerBody) Read(p []byte) (int, error) {
	h := b.watch.h
	b.watch.wait()
	n, err := b.ReadCloser.Read(h.in.piece(p))
	b.watch.pause()
	h.moved(&h.stats.read, n)
	if perr := h.in.pass(b.ctx, h.c, n); perr != nil && err == nil {
		err = perr
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
	source *sourceBody
	left   int64 // bytes that are still to come
}

func (b *sentBody) Read(p []byte) (int, error) {
	h := b.watch.h
	b.watch.pause()
	n, err := b.Reader.Read(h.out.piece(p))
	if perr := h.out.pass(b.ctx, h.c, n); perr != nil {
		return 0, perr // what may not go on is not sent: the last bytes would make it whole
	}
	h.moved(&h.stats.wrote, n)
	if b.left -= int64(n); err == io.EOF || err == nil && b.left == 0 {
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
	switch {
	case resp.ContentLength > limit:
		return nil, errTooLarge
	case resp.ContentLength == 0:
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, errTooLarge
	}
	return data, err
}
