package delta

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Encode writes the delta of t against bases to w. If ctx ends, it returns its error; what was written is useless then.
func Encode(ctx context.Context, w io.Writer, t Target, bases []Base, o Options) (Stats, error) {
	e := &encoder{effort: o.Effort.parameters(o.Version), options: o, target: t, w: w, memory: cmp.Or(o.Memory, &Memory{})}
	e.workers = e.effort.workers(o.Workers)
	h := &Header{Version: cmp.Or(o.Version, Plain), Digest: t.Digest, Size: t.Size, ContentSize: t.ContentSize, Recipe: t.Recipe}
	for _, b := range bases {
		h.Bases = append(h.Bases, BaseInfo{Digest: b.Digest, ContentSize: b.Size})
	}
	if err := h.check(); err != nil {
		return Stats{}, err
	}
	e.unpacked = &unpacked{}
	defer func() { e.unpacked.close() }()
	pieces, err := e.plan(ctx, h, bases)
	if err != nil {
		return Stats{}, err
	}
	header, err := h.MarshalBinary()
	if err != nil {
		return Stats{}, err
	}
	z, err := e.memory.smallEncoder(h.Version, e.effort)
	if err != nil {
		return Stats{}, err
	}
	table, err := encodeTable(&e.unpacked.table, z)
	if err != nil {
		return Stats{}, err
	}
	if err := e.write(append(header, table...)); err != nil {
		return Stats{}, err
	}
	f := &e.memory.frame
	f.small, f.solid = z, nil
	f.reset()
	if h.Version == Solid {
		if f.solid, err = e.memory.solidWriter(e.effort); err != nil {
			return Stats{}, err
		}
	}
	if err := e.run(ctx, pieces, f); err != nil {
		return Stats{}, err
	}
	return e.stats, e.write([]byte{0})
}

type encoder struct {
	effort   effort
	workers  int
	options  Options
	target   Target
	unpacked *unpacked
	bases    *addresses
	anchors  *anchors
	memory   *Memory
	w        io.Writer
	stats    Stats
	charging sync.Mutex // guards stats.Time, and is held while Options.Budget is called, before the first piece
}

func (e *encoder) write(b []byte) error {
	e.stats.Size += int64(len(b))
	if _, err := e.w.Write(b); err != nil {
		return fmt.Errorf("writing the delta: %w", err)
	}
	return nil
}

// plan indexes the contents and divides the target into pieces.
func (e *encoder) plan(ctx context.Context, h *Header, bases []Base) ([]piece, error) {
	var target *Members
	from := make([]*Members, len(bases))
	var mu sync.Mutex
	read := func(ctx context.Context, content io.ReaderAt, size int64) (*Members, error) {
		var m *Members
		spent, err := measure(func() (err error) {
			m, err = index(ctx, content, size)
			return err
		})
		mu.Lock()
		defer mu.Unlock()
		e.stats.Time += spent
		return m, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(e.workers)
	g.Go(func() (err error) {
		if target, err = read(gctx, e.target.Content, e.target.ContentSize); err != nil {
			return fmt.Errorf("target: %w", err)
		}
		return nil
	})
	for i, b := range bases {
		g.Go(func() (err error) {
			if from[i], err = read(gctx, b.Content, b.Size); err != nil {
				return fmt.Errorf("base %s: %w", b.Digest, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	h.ContentHash = target.SHA256

	pairings := newPairs(from).all(target, &e.stats.Members)
	u, err := e.unpack(ctx, target, pairings, bases)
	if err != nil {
		return nil, err
	}
	e.unpacked, e.bases = u, u.addresses
	e.stats.Unpacked, e.stats.Requires = len(u.table.Target), u.requires()
	var pieces []piece
	spent, err := measure(func() error {
		pieces = cut(target, pairings, u, e.effort)
		changed := e.changed(pieces)
		size := int64(0)
		for _, s := range changed {
			size += s.size()
		}
		e.anchors = newAnchors(size, e.memory.slots)
		e.memory.slots = e.anchors.slots
		return e.anchors.scan(ctx, e.bases, changed)
	})
	e.stats.Time += spent
	return pieces, err
}

// changed returns the ranges of the bases that no piece copies whole.
func (e *encoder) changed(pieces []piece) []span {
	var copied []span
	work := int64(0)
	for _, p := range pieces {
		work += p.work
		for _, s := range p.segments {
			if s.copied >= 0 {
				copied = append(copied, span{s.copied, s.copied + s.end - s.start})
			}
		}
	}
	if work == 0 {
		return nil
	}
	var out []span
	at := int64(0)
	for _, s := range merge(copied) {
		if s.start-at >= anchorWidth {
			out = append(out, span{at, s.start})
		}
		at = s.end
	}
	if e.bases.end()-at >= anchorWidth {
		out = append(out, span{at, e.bases.end()})
	}
	return out
}

// run compares the pieces with several workers, and writes their results in order.
func (e *encoder) run(ctx context.Context, pieces []piece, f *frame) error {
	g, ctx := errgroup.WithContext(ctx)
	type job struct {
		piece  int
		result *result
	}
	work := make(chan job)
	free := make(chan *result, e.workers+1)
	e.memory.workers(e.workers)
	results := make([]chan *result, cap(free)) // piece i goes to results[i % len(results)]
	for i := range results {
		results[i] = make(chan *result, 1)
		free <- &e.memory.results[i]
	}
	g.Go(func() error {
		defer close(work)
		for i := range pieces {
			next := job{piece: i}
			select {
			case next.result = <-free:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case work <- next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for i := range min(e.workers, len(pieces)) {
		g.Go(func() error {
			c := &e.memory.comparers[i]
			c.begin(e.unpacked.target, e.bases, e.anchors, e.effort)
			for j := range work {
				spent, err := measure(func() error { return c.compare(pieces[j.piece], j.result) })
				if err != nil {
					return err
				}
				j.result.spent = spent
				results[j.piece%len(results)] <- j.result
			}
			return nil
		})
	}
	g.Go(func() error {
		return e.collect(ctx, len(pieces), f, free, func(i int) (*result, error) {
			select {
			case r := <-results[i%len(results)]:
				return r, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	})
	return g.Wait()
}

// collect writes results as frames. Their memory goes to free, which has room for it.
func (e *encoder) collect(ctx context.Context, n int, f *frame, free chan<- *result, next func(i int) (*result, error)) error {
	p := new(predictor)
	for i := range n {
		r, err := next(i)
		if err != nil {
			return err
		}
		spent, err := measure(func() error {
			f.add(r, p)
			if i < n-1 && f.size() < e.effort.frame {
				return nil
			}
			defer f.reset()
			b, err := f.encode()
			if err != nil {
				return err
			}
			return e.write(b)
		})
		if err != nil {
			return err
		}
		e.stats.Matched += r.matched
		e.stats.Changed += r.changed
		e.stats.Inserted += int64(len(r.inserted))
		e.stats.Time += r.spent + spent
		end := r.end
		free <- r
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.options.Budget != nil && !e.options.Budget(e.stats.Time, end, e.stats.Size+int64(f.size()/2)) {
			return ErrTooCostly
		}
	}
	return nil
}
