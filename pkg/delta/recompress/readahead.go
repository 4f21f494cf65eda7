package recompress

import (
	"io"
	"sync"
	"time"

	"github.com/gantry-mirror/gantry/pkg/delta/cputime"
)

// readAheadAfter is the content of a member after which decompression gets a goroutine of its own, so
// that small members and wrong candidates do not pay for one.
const readAheadAfter = 8 * copySize

// A readAhead reads from r in a goroutine. stop must be called; it waits for the goroutine.
type readAhead struct {
	full    chan chunk
	free    chan []byte
	quit    chan struct{}
	running sync.WaitGroup
	current []byte
	unread  []byte
	err     error
}

type chunk struct {
	b   []byte
	n   int
	err error
}

func newReadAhead(r io.Reader) *readAhead {
	const chunks = 3
	a := &readAhead{full: make(chan chunk, chunks), free: make(chan []byte, chunks), quit: make(chan struct{})}
	for range chunks {
		a.free <- make([]byte, 2*copySize)
	}
	a.running.Go(func() {
		for {
			select {
			case <-a.quit:
				return
			case b := <-a.free:
				n, err := fill(r, b)
				a.full <- chunk{b: b, n: n, err: err} // never waits: there are as many places as chunks
				if err != nil {
					return
				}
			}
		}
	})
	return a
}

func (a *readAhead) Read(p []byte) (int, error) {
	for len(a.unread) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		if a.current != nil {
			a.free <- a.current
		}
		c := <-a.full
		a.current, a.unread, a.err = c.b, c.b[:c.n], c.err
	}
	n := copy(p, a.unread)
	a.unread = a.unread[n:]
	return n, nil
}

func (a *readAhead) stop() {
	close(a.quit)
	a.running.Wait()
}

// fill reads until b is full. Unlike io.ReadFull, it returns the error of r itself, so that the end of
// the content and a truncated blob can be told apart.
func fill(r io.Reader, b []byte) (int, error) {
	n := 0
	for n < len(b) {
		k, err := r.Read(b[n:])
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// A stopwatch adds up the time that several goroutines work.
type stopwatch struct {
	now func() time.Time // nil measures processor time
	mu  sync.Mutex
	sum time.Duration
}

// start begins to measure the work of a goroutine, which stop adds.
func (s *stopwatch) start() (stop func()) {
	elapsed := cputime.Start
	if s.now != nil {
		elapsed = func() func() time.Duration {
			began := s.now()
			return func() time.Duration { return s.now().Sub(began) }
		}
	}
	end := elapsed()
	return func() {
		d := end()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sum += d
	}
}

func (s *stopwatch) busy() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum
}

// watch returns an encoder whose work is measured.
func (s *stopwatch) watch(e encoder) encoder {
	if p, ok := e.(*pgzip); ok {
		p.clock = s // its goroutines work, its methods wait
		return p
	}
	return &watched{encoder: e, clock: s}
}

type watched struct {
	encoder
	clock *stopwatch
}

func (w *watched) Write(p []byte) (int, error) {
	defer w.clock.start()()
	return w.encoder.Write(p)
}

func (w *watched) Close() error {
	defer w.clock.start()()
	return w.encoder.Close()
}

// timed is content whose decompression is measured.
type timed struct {
	r     io.Reader
	clock *stopwatch
}

func (t *timed) Read(p []byte) (int, error) {
	defer t.clock.start()()
	return t.r.Read(p)
}
