package zlib

import (
	"cmp"
	"errors"
)

// pigzBlock is how much pigz compresses at once by default.
const pigzBlock = 128 << 10

// A pigz compresses blocks as pigz does. Each block is a stream of zlib that ends with a whole
// byte and has the end of the block before as its dictionary. On one processor it is one
// stream, which is brought to whole bytes in the same places.
type pigz struct {
	*encoder
	size        int
	independent bool
	sequential  bool

	left    int    // bytes that the block still takes
	history []byte // at least the last windowSize bytes of the block, if they are needed
}

func newPigz(to *bitWriter, o Options) *pigz {
	p := &pigz{
		encoder:     newEncoder(to, levels[o.Level], zlibVariant(0), 0),
		size:        cmp.Or(o.BlockSize, pigzBlock),
		independent: o.Independent,
		sequential:  o.Sequential,
	}
	if !p.independent && !p.sequential {
		p.history = make([]byte, 0, 2*windowSize)
	}
	p.left = p.size
	return p
}

func (p *pigz) reset() {
	p.left, p.history = p.size, p.history[:0]
	p.encoder.reset()
}

func (p *pigz) write(data []byte) {
	for len(data) > 0 {
		// A full block ends when it is known that it is not the last one.
		if p.left == 0 {
			p.endBlock()
			p.left = p.size
		}
		n := min(len(data), p.left)
		p.encoder.write(data[:n])
		p.remember(data[:n])
		data = data[n:]
		p.left -= n
	}
}

func (p *pigz) remember(data []byte) {
	if cap(p.history) == 0 {
		return
	}
	data = data[max(0, len(data)-windowSize):]
	if len(p.history)+len(data) > cap(p.history) {
		kept := copy(p.history, p.history[len(p.history)-windowSize:])
		p.history = p.history[:kept]
	}
	p.history = append(p.history, data...)
}

// endBlock ends a block that is not the last one.
func (p *pigz) endBlock() {
	p.drain(false)
	loose := p.to.loose()
	switch {
	case p.independent:
		// Two empty blocks mark a place where decompression can start.
		writeStored(p.to, nil, false)
		writeStored(p.to, nil, false)
	case loose%2 == 1:
		writeStored(p.to, nil, false)
	default:
		// An empty block with fixed codes has ten bits.
		for ; loose%8 != 0; loose += 10 {
			p.to.put(1<<1, 10)
		}
	}
	if p.sequential && !p.independent {
		return
	}
	p.encoder.reset()
	if !p.independent {
		p.dictionary(p.history[len(p.history)-windowSize:])
	}
}

func (p *pigz) flush() error { return errors.New("pigz does not flush its output") }

func (p *pigz) finish() { p.drain(true) }
