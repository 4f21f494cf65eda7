package parity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/klauspost/reedsolomon"
	"golang.org/x/sync/errgroup"
)

// A File is a parity file with its head.
type File struct {
	*Head
	io.ReaderAt
}

// A Recovery rebuilds data shards. It is not safe for concurrent use.
type Recovery struct {
	l      Layout
	head   *Head   // whose checksums of data shards are used
	shards []shard // the data shards, then the parity files
}

// A shard is a data shard or a parity file.
type shard struct {
	copies []shardCopy
	at     int64 // of the first block in the file
	size   int64
}

// A shardCopy is one file with a shard. file is nil if there is none. sums are the checksums of its blocks.
type shardCopy struct {
	file   io.ReaderAt
	sums   []byte
	intact []bool // by block
}

// NewRecovery prepares a recovery. data are the copies of each data shard, none if it is missing; of a parity file,
// there may be copies too. Parity files with checksums of data shards that differ from the others' are left out: they
// are of other data.
func NewRecovery(l Layout, data [][]io.ReaderAt, files []File) (*Recovery, error) {
	if len(data) != len(l.Sizes) {
		return nil, fmt.Errorf("%d data shards for a layout of %d", len(data), len(l.Sizes))
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no intact parity file")
	}
	r := &Recovery{l: l, head: files[0].Head}
	most := 0
	for _, f := range files {
		same := 0
		for _, other := range files {
			if other.Parities == f.Parities && bytes.Equal(other.data(l), f.data(l)) {
				same++
			}
		}
		if same > most {
			r.head, most = f.Head, same
		}
	}
	if err := l.Check(r.head.Parities); err != nil {
		return nil, err
	}
	r.shards = make([]shard, len(data)+r.head.Parities)
	row := l.blocks() * sumSize
	for i, copies := range data {
		s := &r.shards[i]
		s.size = l.Sizes[i]
		if len(copies) == 0 {
			copies = []io.ReaderAt{nil} // the zeros behind its end are known
		}
		for _, file := range copies {
			s.copies = append(s.copies, shardCopy{file: file, sums: r.head.sums[i*row : (i+1)*row]})
		}
	}
	for _, f := range files {
		if f.Parities == r.head.Parities && bytes.Equal(f.data(l), r.head.data(l)) {
			s := &r.shards[len(data)+f.Number-1]
			s.at, s.size = l.headSize(), l.Length()
			s.copies = append(s.copies, shardCopy{file: f.ReaderAt, sums: f.sums[len(data)*row:]})
		}
	}
	r.forget()
	return r, nil
}

// forget makes all blocks unknown.
func (r *Recovery) forget() {
	for i := range r.shards {
		for j := range r.shards[i].copies {
			r.shards[i].copies[j].intact = make([]bool, r.l.blocks())
		}
	}
}

// intact reports whether a copy of the shard has a block.
func (s *shard) intact(block int) bool { return s.copyWith(block) != nil }

// copyWith returns a copy of the shard that has a block, or nil.
func (s *shard) copyWith(block int) *shardCopy {
	for i := range s.copies {
		if s.copies[i].intact[block] {
			return &s.copies[i]
		}
	}
	return nil
}

// Examine reads all shards and compares each block with its checksum. What cannot be read counts as
// damaged. progress, if not nil, is called with the number of bytes read since the last call.
func (r *Recovery) Examine(ctx context.Context, progress func(n int64)) error {
	r.forget()
	buffers := make(chan []byte, runtime.GOMAXPROCS(0))
	for range cap(buffers) {
		buffers <- make([]byte, minBlock)
	}
	for b := range r.l.blocks() {
		var g errgroup.Group
		g.SetLimit(cap(buffers))
		for i := range r.shards {
			for j := range r.shards[i].copies {
				g.Go(func() error {
					buf := <-buffers
					defer func() { buffers <- buf }()
					s := &r.shards[i]
					s.copies[j].intact[b] = r.isIntact(ctx, s, &s.copies[j], b, buf)
					return nil
				})
			}
		}
		_ = g.Wait() // never an error
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if progress != nil {
			progress(r.present(b))
		}
	}
	return nil
}

// present returns how many bytes of a block the shards have.
func (r *Recovery) present(block int) (n int64) {
	at, size := r.l.blockAt(block)
	for _, s := range r.shards {
		for _, c := range s.copies {
			if c.file != nil {
				n += max(0, min(size, s.size-at))
			}
		}
	}
	return n
}

// isIntact compares a block with its checksum. A block after the end of a missing shard is intact: it has
// zeros only.
func (r *Recovery) isIntact(ctx context.Context, s *shard, c *shardCopy, block int, buf []byte) bool {
	at, size := r.l.blockAt(block)
	if c.file == nil && at < s.size {
		return false
	}
	h := sha256.New()
	for end := at + size; at < end; {
		p := buf[:min(int64(len(buf)), end-at)]
		if ctx.Err() != nil || s.read(c, p, at) != nil {
			return false
		}
		h.Write(p) // never returns an error
		at += int64(len(p))
	}
	return bytes.Equal(h.Sum(nil), c.sums[block*sumSize:(block+1)*sumSize])
}

// read fills p with bytes of a copy of the shard.
func (s *shard) read(c *shardCopy, p []byte, at int64) error {
	if s.at == 0 {
		return readShard(c.file, s.size, p, at)
	}
	return readShard(c.file, s.at+s.size, p, s.at+at)
}

// Blocks returns how many blocks a shard has.
func (r *Recovery) Blocks() int { return r.l.blocks() }

// Parities returns how many parity files there should be.
func (r *Recovery) Parities() int { return r.head.Parities }

// Damaged returns how many blocks of a data shard, counted from 0, are damaged, or of a parity file, which
// are counted after the data shards: in its best copy. Examine must have been called.
func (r *Recovery) Damaged(shard int) int {
	damaged := r.l.blocks()
	for _, c := range r.shards[shard].copies {
		n := 0
		for _, intact := range c.intact {
			if !intact {
				n++
			}
		}
		damaged = min(damaged, n)
	}
	return damaged
}

// Lost returns how many blocks cannot be rebuilt, and how many more shards would have to be intact at
// the worst of these positions. Examine must have been called.
func (r *Recovery) Lost() (blocks, shards int) {
	for b := range r.l.blocks() {
		damaged := 0
		for i := range r.shards {
			if !r.shards[i].intact(b) {
				damaged++
			}
		}
		if more := damaged - r.head.Parities; more > 0 && r.needed(b) {
			blocks, shards = blocks+1, max(shards, more)
		}
	}
	return blocks, shards
}

// needed reports whether a data shard is damaged at a block.
func (r *Recovery) needed(block int) bool {
	return slices.ContainsFunc(r.shards[:len(r.l.Sizes)], func(s shard) bool { return !s.intact(block) })
}

// Rebuild writes data shards, by their number from 0 on. It copies intact blocks and computes the others. It
// refuses if Lost reports any. Examine must have been called. progress, if not nil, is called with the number of
// bytes written since the last call.
func (r *Recovery) Rebuild(ctx context.Context, to map[int]io.WriterAt, progress func(n int64)) error {
	if blocks, shards := r.Lost(); blocks > 0 {
		return fmt.Errorf("%d blocks cannot be rebuilt: %d more volumes or parity files have to be intact there", blocks, shards)
	}
	code, err := reedsolomon.New(len(r.l.Sizes), r.head.Parities)
	if err != nil {
		return fmt.Errorf("preparing parity: %w", err)
	}
	step := r.l.slice(len(r.shards))
	buffers := make([][]byte, len(r.shards))
	for i := range buffers {
		buffers[i] = make([]byte, min(step, r.l.Length()))
	}
	for b := range r.l.blocks() {
		begin, size := r.l.blockAt(b)
		for at := begin; at < begin+size; at += step {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := r.stripe(code, to, b, at, min(step, begin+size-at), buffers)
			if err != nil {
				return err
			}
			if progress != nil {
				progress(n)
			}
		}
	}
	return nil
}

// stripe rebuilds a part of a block.
func (r *Recovery) stripe(code reedsolomon.Encoder, to map[int]io.WriterAt, block int, at, size int64, buffers [][]byte) (written int64, err error) {
	stripe := make([][]byte, len(r.shards))
	missing := make([]bool, len(r.shards))
	compute := false
	for i := range to {
		if !r.shards[i].intact(block) {
			missing[i], compute = true, true
		}
	}
	have := 0
	for i := range r.shards {
		stripe[i] = buffers[i][:0]
		_, copied := to[i]
		c := r.shards[i].copyWith(block)
		if c == nil || !copied && (!compute || have >= len(r.l.Sizes)) {
			continue
		}
		stripe[i] = buffers[i][:size]
		if err := r.shards[i].read(c, stripe[i], at); err != nil {
			return 0, fmt.Errorf("reading what was intact before: %w", err)
		}
		have++
	}
	if compute {
		if err := code.ReconstructSome(stripe, missing); err != nil {
			return 0, fmt.Errorf("rebuilding: %w", err)
		}
	}
	for i, w := range to {
		n := max(0, min(size, r.l.Sizes[i]-at))
		if n == 0 {
			continue
		}
		if _, err := w.WriteAt(stripe[i][:n], at); err != nil {
			return written, err
		}
		written += n
	}
	return written, nil
}
