package delta

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/gantry-mirror/gantry/pkg/delta/packed"
)

// ErrMismatch is returned by Decode if the rebuilt content is not the one that the header announces: a base has other content than the writer had.
var ErrMismatch = errors.New("the rebuilt content has another checksum than the delta announces")

// DecodeOptions of Decode.
type DecodeOptions struct {
	MaxContentSize int64  // 0: no limit. A delta that announces more is refused before anything is written
	Temp           string // the folder for a temporary file with what compressed parts of bases unpack to; "" is the one of the system
}

// Decode reads a delta and writes the uncompressed content of its target to w. It opens every base once, by its index in the header; closing them is the
// caller's. Only if it returns no error is the content the one that was announced: do not use what was written before that.
func Decode(ctx context.Context, w io.Writer, r io.Reader, open func(i int, b BaseInfo) (io.ReaderAt, error), o DecodeOptions) (*Header, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, err
	}
	return h, h.Decode(ctx, w, r, open, o)
}

// Decode is like the function Decode. It reads what follows the header that ReadHeader read from r.
func (h *Header) Decode(ctx context.Context, w io.Writer, r io.Reader, open func(i int, b BaseInfo) (io.ReaderAt, error), o DecodeOptions) error {
	if err := h.check(); err != nil {
		return err
	}
	if o.MaxContentSize > 0 && h.ContentSize > o.MaxContentSize {
		return invalid("it announces %d bytes; at most %d are allowed", h.ContentSize, o.MaxContentSize)
	}
	bases := make([]Base, len(h.Bases))
	for i, b := range h.Bases {
		content, err := open(i, b)
		if err != nil {
			return fmt.Errorf("opening base %s: %w", b.Digest, err)
		}
		bases[i] = Base{b.Digest, content, b.ContentSize}
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(frameLimit), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer z.Close()
	in := bufio.NewReaderSize(r, chunk)
	u, err := h.readUnpacked(ctx, in, z, bases, o)
	if err != nil {
		return err
	}
	defer u.close()
	sum := sha256.New()
	packing, err := u.table.NewWriter(io.MultiWriter(w, sum))
	if err != nil {
		return err
	}
	d := &decoder{bases: newPages(u.addresses), predictor: new(predictor), out: packing}
	size := h.ContentSize + packed.Unpacked(u.table.Target)
	var solid *solidReader
	if h.Version == Solid {
		if solid, err = newSolidReader(); err != nil {
			return err
		}
		defer solid.close()
	}
	var f frame
	for {
		if err := f.read(in, z, solid, size-d.done); err != nil {
			return fmt.Errorf("reading the delta after %d bytes of content: %w", d.done, err)
		}
		if f.length == 0 {
			break
		}
		if err := d.frame(ctx, &f); err != nil {
			return fmt.Errorf("rebuilding content at %d: %w", d.done, err)
		}
	}
	if d.done != size {
		return invalid("it describes %d bytes instead of %d", d.done, size)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		if err == nil {
			err = invalid("bytes after its end")
		}
		return err
	}
	if err := d.out.Close(); err != nil {
		return fmt.Errorf("writing content: %w", err)
	}
	if [sha256.Size]byte(sum.Sum(nil)) != h.ContentHash {
		return ErrMismatch
	}
	return nil
}

const chunk = 64 << 10 // bytes that are copied at once

type decoder struct {
	bases     *pages
	predictor *predictor
	out       *packed.Writer
	done      int64 // bytes of content, unpacked
	buffer    [chunk]byte

	streams [streams]fields // of the frame
	copied  int64           // bytes copied in the frame
	next    int64           // the next change's position in them; math.MaxInt64 after the last
}

// frame writes the content of a frame.
func (d *decoder) frame(ctx context.Context, f *frame) error {
	for i, s := range f.streams {
		d.streams[i] = fields{packed.Fields{B: s}}
	}
	d.copied, d.next = 0, 0
	d.gap()
	end := d.done + f.length
	at := int64(0)
	for range f.count {
		if err := ctx.Err(); err != nil {
			return err
		}
		o := operation{copied: d.streams[streamCopied].length(), inserted: d.streams[streamInserted].length()}
		seek, n := binary.Varint(d.streams[streamSeek].B)
		if n <= 0 || d.streams[streamCopied].Bad || d.streams[streamInserted].Bad {
			return invalid("an operation")
		}
		d.streams[streamSeek].Take(n)
		if o.copied > end-d.done || o.inserted > end-d.done-o.copied || o.copied+o.inserted == 0 {
			return invalid("an operation of the wrong length")
		}
		if seek < -maxAddress || seek > maxAddress || o.copied == 0 && seek != 0 {
			return invalid("the address of a copy")
		}
		o.from = at + seek
		if err := d.copy(ctx, o); err != nil {
			return err
		}
		at = o.from + o.copied
		b := d.streams[streamBytes].Take(int(min(o.inserted, frameLimit+1)))
		if d.streams[streamBytes].Bad {
			return invalid("inserted bytes are missing")
		}
		if err := d.write(b); err != nil {
			return err
		}
	}
	if d.done != end {
		return invalid("a frame of the wrong length")
	}
	for i := range d.streams {
		if len(d.streams[i].B) > 0 || d.streams[i].Bad || d.next != math.MaxInt64 {
			return invalid("stream %d has other bytes than its frame needs", i+1)
		}
	}
	return nil
}

func (d *decoder) write(b []byte) error {
	if _, err := d.out.Write(b); err != nil {
		return fmt.Errorf("writing content: %w", mismatch(err))
	}
	d.done += int64(len(b))
	return nil
}

// gap reads where the next change is.
func (d *decoder) gap() {
	s := &d.streams[streamGap]
	if len(s.B) == 0 {
		d.next = math.MaxInt64
		return
	}
	if gap := s.length(); gap <= maxAddress {
		d.next += gap
	} else {
		s.Bad = true
	}
}

// copy copies bytes from the bases and changes them.
func (d *decoder) copy(ctx context.Context, o operation) error {
	for left := o.copied; left > 0; {
		b := d.buffer[:min(left, chunk)]
		from := o.from + o.copied - left
		if err := d.bases.read(b, from); err != nil {
			return err
		}
		start := d.copied
		for d.next < start+int64(len(b)) {
			i := int(d.next - start)
			mask := wordMask(int(min(left-int64(i), 4)))
			c := change{from: uint32(from + int64(i)), at: uint32(d.done + int64(i)), mask: mask}
			if i+c.width() > len(b) {
				b = b[:i] // the word is in the next chunk
				break
			}
			c.base = word(b[i : i+c.width()])
			if err := d.change(&c); err != nil {
				return err
			}
			for k := range c.width() {
				b[i+k] = byte(c.target >> (8 * k))
			}
			d.next += int64(c.width())
			d.gap()
		}
		if err := d.write(b); err != nil {
			return err
		}
		d.copied += int64(len(b))
		left -= int64(len(b))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// change finds the target of c.
func (d *decoder) change(c *change) error {
	kind := d.streams[streamKind].Take(1)
	if len(kind) == 0 || kind[0] > explicit {
		return invalid("a change")
	}
	if kind[0] == explicit {
		v := d.streams[streamValue].length()
		if d.streams[streamValue].Bad || v > math.MaxUint32 {
			return invalid("a changed value")
		}
		c.target = (c.base + unzigzag(uint32(v))) & c.mask
	} else {
		c.target = d.predictor.guess(kind[0], *c)
	}
	d.predictor.learn(*c)
	return nil
}
