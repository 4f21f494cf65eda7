package parity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"runtime"

	"github.com/klauspost/reedsolomon"
	"golang.org/x/sync/errgroup"
)

// Encode computes one parity file for each of to from the data shards, which it reads once, from
// beginning to end. progress, if not nil, is called with how many bytes of the data shards were read since the
// last call. After cancellation nothing more is written.
func Encode(ctx context.Context, l Layout, data []io.ReaderAt, to []io.WriterAt, progress func(n int64)) error {
	if err := l.Check(len(to)); err != nil {
		return err
	}
	if len(data) != len(l.Sizes) {
		return fmt.Errorf("%d data shards for a layout of %d", len(data), len(l.Sizes))
	}
	code, err := reedsolomon.New(len(data), len(to))
	if err != nil {
		return fmt.Errorf("preparing parity: %w", err)
	}
	e := encoder{l: l, data: data, to: to, shards: make([][]byte, len(data)+len(to))}
	step := l.slice(len(e.shards))
	buffers := make([][]byte, len(e.shards))
	for i := range buffers {
		buffers[i] = make([]byte, min(step, l.Length()))
		e.hashes = append(e.hashes, sha256.New())
	}
	e.sums = make([][]byte, len(e.shards))
	for at := int64(0); at < l.Length(); at += step {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i := range buffers {
			e.shards[i] = buffers[i][:min(step, l.Length()-at)]
		}
		n, err := e.stripe(at, code)
		if err != nil {
			return err
		}
		if progress != nil {
			progress(n)
		}
	}
	return e.writeHeads(ctx)
}

// An encoder computes parity, stripe by stripe.
type encoder struct {
	l      Layout
	data   []io.ReaderAt
	to     []io.WriterAt
	shards [][]byte // of the current stripe
	hashes []hash.Hash
	sums   [][]byte // of the blocks so far, by shard
}

// stripe reads the data shards at an offset and writes their parity.
func (e *encoder) stripe(at int64, code reedsolomon.Encoder) (read int64, err error) {
	end := at + int64(len(e.shards[0]))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, shard := range e.shards[:len(e.data)] {
		read += max(0, min(end, e.l.Sizes[i])-at)
		g.Go(func() error {
			if err := readShard(e.data[i], e.l.Sizes[i], shard, at); err != nil {
				return fmt.Errorf("reading volume %d for its parity: %w", i+1, err)
			}
			e.hash(i, end)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if err := code.Encode(e.shards); err != nil {
		return 0, fmt.Errorf("computing parity: %w", err)
	}
	for i, to := range e.to {
		g.Go(func() error {
			e.hash(len(e.data)+i, end)
			_, err := to.WriteAt(e.shards[len(e.data)+i], e.l.headSize()+at)
			return err
		})
	}
	return read, g.Wait()
}

// hash adds the current stripe of a shard, which ends at an offset, to the checksum of its block.
func (e *encoder) hash(shard int, end int64) {
	h := e.hashes[shard]
	h.Write(e.shards[shard]) // never returns an error
	if end%e.l.block() == 0 || end == e.l.Length() {
		e.sums[shard] = h.Sum(e.sums[shard])
		h.Reset()
	}
}

// writeHeads writes both copies of the head of each file.
func (e *encoder) writeHeads(ctx context.Context) error {
	var common []byte
	for i := range e.data {
		common = append(common, e.sums[i]...)
	}
	for i, to := range e.to {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h := &Head{Number: i + 1, Parities: len(e.to), sums: append(common[:len(common):len(common)], e.sums[len(e.data)+i]...)}
		raw, err := h.marshal(e.l)
		if err != nil {
			return err
		}
		for _, at := range []int64{0, e.l.headSize() + e.l.Length()} {
			if _, err := to.WriteAt(raw, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// readShard fills p with the bytes of a data shard at an offset, and with zeros after its end.
func readShard(from io.ReaderAt, size int64, p []byte, at int64) error {
	n := max(0, min(int64(len(p)), size-at))
	clear(p[n:])
	if n == 0 {
		return nil
	}
	read, err := from.ReadAt(p[:n], at)
	if int64(read) == n {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
