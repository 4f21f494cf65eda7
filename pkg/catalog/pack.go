package catalog

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// blockSize is the size at which a block of texts is compressed. The bundles of a package repeat
// each other: together they shrink to a fifteenth, each by itself to a fifth. The objects of a file
// are mostly needed in their order, so that each block is decompressed about once.
const blockSize = 512 << 10

// maxPlain is how many bytes of text a catalog keeps uncompressed: for so few, compressing costs more
// than it saves.
const maxPlain = 2 << 20

// A Packed is the compressed text of an object; see [Options.Pack].
type Packed struct {
	block      *block
	start, end int32 // in the block
}

// A block is the texts of several objects of a file, compressed as one, or uncompressed.
type block struct {
	data  []byte
	size  int
	plain bool // data is uncompressed
	from  *unpacker
}

// Len returns the length of the text in bytes.
func (p *Packed) Len() int { return int(p.end - p.start) }

// Text returns the text. Callers must not modify it.
func (p *Packed) Text() ([]byte, error) {
	text, err := p.block.from.unpack(p.block)
	if err != nil {
		return nil, fmt.Errorf("unpacking the text of an object: %w", err)
	}
	return text[p.start:p.end:p.end], nil
}

// An unpacker decompresses blocks. It keeps the last ones, since the objects of a block are mostly
// needed one after the other. It is safe for concurrent use.
type unpacker struct {
	zstd *zstd.Decoder

	mu   sync.Mutex
	last [4]unpacked // the most recent first
}

type unpacked struct {
	block *block
	text  []byte
}

func (u *unpacker) unpack(b *block) ([]byte, error) {
	if b.plain {
		return b.data, nil
	}
	if text := u.known(b); text != nil {
		return text, nil
	}
	text, err := u.zstd.DecodeAll(b.data, make([]byte, 0, b.size))
	if err == nil && len(text) != b.size {
		err = errors.New("the length does not match")
	}
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	copy(u.last[1:], u.last[:])
	u.last[0] = unpacked{b, text}
	return text, nil
}

func (u *unpacker) known(b *block) []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, l := range u.last {
		if l.block == b {
			copy(u.last[1:i+1], u.last[:i])
			u.last[0] = l
			return l.text
		}
	}
	return nil
}

// A packing compresses the texts of a catalog. Its packers share it.
type packing struct {
	zstd  *zstd.Encoder
	from  *unpacker
	plain atomic.Int64 // bytes of text so far, until they are more than maxPlain
}

func newPacking() (*packing, error) {
	jobs := runtime.GOMAXPROCS(0)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(jobs), zstd.WithWindowSize(2*blockSize))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(jobs), zstd.WithDecoderLowmem(true))
	return &packing{zstd: encoder, from: &unpacker{zstd: decoder}}, err
}

// A packer compresses the texts of one file after the other. It must not be used by several
// goroutines.
type packer struct {
	*packing
	open    *block // of pending
	pending []byte
}

// add returns the packed text. It can be unpacked after flush.
func (p *packer) add(text []byte) *Packed {
	if p.open == nil {
		p.open = &block{from: p.from}
	}
	packed := &Packed{block: p.open, start: int32(len(p.pending))} //nolint:gosec // less than blockSize and maxObject
	p.pending = append(p.pending, text...)
	packed.end = int32(len(p.pending)) //nolint:gosec // as above
	if len(p.pending) >= blockSize {
		p.flush()
	}
	return packed
}

// flush compresses what is pending, unless the catalog has little text so far.
func (p *packer) flush() {
	if p.open == nil {
		return
	}
	p.open.size = len(p.pending)
	if p.open.plain = p.plain.Load() <= maxPlain && p.plain.Add(int64(len(p.pending))) <= maxPlain; p.open.plain {
		p.open.data = slices.Clone(p.pending)
	} else {
		p.open.data = append([]byte(nil), p.zstd.EncodeAll(p.pending, nil)...) // without unused capacity
	}
	p.open, p.pending = nil, p.pending[:0]
}

// Text returns the text of the object, whether it is packed or not; nil if it was not kept. Callers
// must not modify it.
func (m *Meta) Text() ([]byte, error) {
	if m.Packed != nil {
		return m.Packed.Text()
	}
	return m.Raw, nil
}

// Len returns the length of the object's text in bytes.
func (m *Meta) Len() int {
	if m.Packed != nil {
		return m.Packed.Len()
	}
	return len(m.Raw)
}

// Complete returns the bundle with its text and the values of all properties: the bundle itself,
// unless its text is packed.
func (b *Bundle) Complete() (*Bundle, error) {
	if b.Meta == nil || b.Meta.Packed == nil {
		return b, nil
	}
	m := *b.Meta
	var err error
	if m.Raw, err = m.Text(); err != nil {
		return nil, err
	}
	m.Packed = nil
	return new(decoder).bundle(&m)
}
