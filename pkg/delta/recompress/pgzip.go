package recompress

import (
	"bytes"
	"io"
	"runtime"

	"github.com/klauspost/compress/flate"
)

// pgzip compresses blocks as klauspost/pgzip does: each with the end of the block before it as
// dictionary, followed by a sync flush, so that blocks can be compressed concurrently. The last block,
// which may be empty, ends the stream. The library itself is not used because its memory grows with
// the number of cores, and it leaves goroutines behind if a stream is abandoned.
type pgzip struct {
	w         io.Writer
	level     int
	blockSize int
	workers   int

	block   []byte // the content of the next block
	dict    []byte
	pending []chan compressed // blocks that are being compressed, the oldest first
	idle    []*blockCompressor
	clock   *stopwatch // nil if the time is not measured
}

// pgzipDictionary is the length of the dictionary, in all versions of pgzip.
const pgzipDictionary = 16 << 10

// pgzipMemory limits the memory for blocks and compressors, whose tables take up to 1.5 MB.
const (
	pgzipMemory    = 32 << 20
	deflateMemory  = 3 << 19
	maxPgzipWorker = 16
)

type blockCompressor struct {
	deflate *flate.Writer
	out     bytes.Buffer
	block   []byte
	dict    []byte
}

type compressed struct {
	by  *blockCompressor
	err error
}

func openPgzip(level, blockSize int) (encoder, error) {
	workers := min(runtime.GOMAXPROCS(0), pgzipMemory/(2*blockSize+deflateMemory), maxPgzipWorker)
	return &pgzip{w: io.Discard, level: level, blockSize: blockSize, workers: max(workers, 1)}, nil
}

func (p *pgzip) Reset(w io.Writer) {
	for _, c := range p.pending {
		p.idle = append(p.idle, (<-c).by)
	}
	p.w, p.pending = w, nil
	p.block, p.dict = p.block[:0], p.dict[:0]
}

func (p *pgzip) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		k := min(len(b), p.blockSize-len(p.block))
		p.block, b = append(p.block, b[:k]...), b[k:]
		if len(p.block) == p.blockSize {
			if err := p.compress(false); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (p *pgzip) Close() error {
	if err := p.compress(true); err != nil {
		return err
	}
	for len(p.pending) > 0 {
		if err := p.writeOldest(); err != nil {
			return err
		}
	}
	return nil
}

// compress begins to compress the current block. Each goroutine ends with its block, whether or not
// anyone takes the result.
func (p *pgzip) compress(last bool) error {
	if len(p.pending) == p.workers {
		if err := p.writeOldest(); err != nil {
			return err
		}
	}
	var c *blockCompressor
	if n := len(p.idle); n > 0 {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
	} else {
		deflate, err := flate.NewWriterDict(io.Discard, p.level, nil)
		if err != nil {
			return err
		}
		c = &blockCompressor{deflate: deflate}
	}
	c.block, p.block = p.block, c.block[:0]
	c.dict = append(c.dict[:0], p.dict...)
	p.dict = p.dict[:0]
	if len(c.block) > pgzipDictionary {
		p.dict = append(p.dict, c.block[len(c.block)-pgzipDictionary:]...)
	}
	done := make(chan compressed, 1)
	p.pending = append(p.pending, done)
	work := func() {
		if p.clock != nil {
			defer p.clock.start()()
		}
		done <- compressed{by: c, err: c.compress(last)}
	}
	if p.workers == 1 {
		work()
	} else {
		go work()
	}
	return nil
}

func (c *blockCompressor) compress(last bool) error {
	c.out.Reset()
	c.deflate.ResetDict(&c.out, c.dict)
	if _, err := c.deflate.Write(c.block); err != nil {
		return err
	}
	if err := c.deflate.Flush(); err != nil {
		return err
	}
	if last {
		return c.deflate.Close()
	}
	return nil
}

func (p *pgzip) writeOldest() error {
	r := <-p.pending[0]
	p.pending = p.pending[1:]
	p.idle = append(p.idle, r.by)
	if r.err != nil {
		return r.err
	}
	_, err := p.w.Write(r.by.out.Bytes())
	return err
}
