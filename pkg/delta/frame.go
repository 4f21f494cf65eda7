package delta

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// The streams of a frame. Values of one kind are together, because they compress better.
const (
	streamCopied   = iota // length of each copy
	streamInserted        // length of the insertion that follows it
	streamSeek            // zigzag distance of its address from the end of the copy before it
	streamGap             // copied bytes between changes
	streamKind            // which guess is correct, for each change
	streamValue           // zigzag difference, for changes that were not guessed
	streamBytes           // inserted bytes
	streams
)

const (
	frameLimit = 16 << 20 // a frame never has more
	// A reader refuses frames with more bytes in streams than this for each byte of output: its time is limited by the length of the output.
	streamBytesPerByte = 32
	streamBytesExtra   = 64
)

// operation copies bytes from the bases, with changes, and then inserts bytes.
type operation struct {
	from             int64
	copied, inserted int64
	short            bool // the last change has fewer than four bytes, so that what is copied next cannot be joined
}

// frame collects streams.
type frame struct {
	length  int64 // bytes of the target
	streams [streams][]byte

	small  *zstd.Encoder // for streams that are compressed alone
	solid  *solidWriter  // for inserted bytes, in Solid; nil otherwise
	packed []byte        // memory for the compressed streams

	last    operation // not yet in the streams
	count   int       // operations, with the last
	end     int64     // address after the last copy in the streams
	copied  int64     // bytes copied, without the last operation's
	changed int64     // position in the copied bytes after the last change
}

func (f *frame) size() int {
	n := 0
	for _, s := range f.streams {
		n += len(s)
	}
	return n
}

func (f *frame) uvarint(stream int, v uint64) {
	f.streams[stream] = binary.AppendUvarint(f.streams[stream], v)
}

// add appends the operations and changes of a piece.
func (f *frame) add(r *result, p *predictor) {
	start := f.copied + f.last.copied
	for _, c := range r.changes {
		c.copied += start
		f.uvarint(streamGap, uint64(c.copied-f.changed))
		kind := p.kind(c)
		f.streams[streamKind] = append(f.streams[streamKind], kind)
		if kind == explicit {
			f.uvarint(streamValue, uint64(zigzag(c.target-c.base)))
		}
		p.learn(c)
		f.changed = c.copied + int64(c.width())
	}
	for _, o := range r.operations {
		joined := f.count > 0 && (o.copied == 0 || f.last.inserted == 0 && o.from == f.last.from+f.last.copied && !f.last.short)
		if joined {
			f.last.short = f.last.short || o.short
			f.last.copied += o.copied
			f.last.inserted += o.inserted
		} else {
			f.put()
			f.last = o
			f.count++
		}
		f.length += o.copied + o.inserted
	}
	f.streams[streamBytes] = append(f.streams[streamBytes], r.inserted...)
}

// put writes the last operation to the streams.
func (f *frame) put() {
	if f.count == 0 {
		return
	}
	if f.last.copied == 0 {
		f.last.from = f.end
	}
	f.uvarint(streamCopied, uint64(f.last.copied))
	f.uvarint(streamInserted, uint64(f.last.inserted))
	f.streams[streamSeek] = binary.AppendVarint(f.streams[streamSeek], f.last.from-f.end)
	f.end = f.last.from + f.last.copied
	f.copied += f.last.copied
}

// mostHead is how many bytes the numbers before the streams may have.
const mostHead = (2 + 2*streams) * binary.MaxVarintLen64

// encode ends the frame and returns its bytes until the next call.
func (f *frame) encode() ([]byte, error) {
	f.put()
	head := binary.AppendUvarint(make([]byte, 0, mostHead), uint64(f.length))
	head = binary.AppendUvarint(head, uint64(f.count))
	packed := slices.Grow(f.packed[:0], mostHead)[:mostHead]
	for i, s := range f.streams {
		at := len(packed)
		if i == streamBytes && f.solid != nil {
			chunk, err := f.solid.pack(s)
			if err != nil {
				return nil, err
			}
			packed = append(packed, chunk...)
		} else {
			packed = f.small.EncodeAll(s, packed)
			if len(packed)-at >= len(s) {
				packed = append(packed[:at], s...)
			}
		}
		head = binary.AppendUvarint(head, uint64(len(s)))
		head = binary.AppendUvarint(head, uint64(len(packed)-at))
	}
	f.packed = packed
	out := packed[mostHead-len(head):]
	copy(out, head)
	return out, nil
}

// reset empties the frame, and keeps its memory.
func (f *frame) reset() {
	next := frame{small: f.small, solid: f.solid, packed: f.packed}
	for i, s := range f.streams {
		next.streams[i] = s[:0]
	}
	*f = next
}

// read reads the next frame. At the end of the delta its length is 0. At most left bytes of output are expected. solid is nil in Plain.
func (f *frame) read(r *bufio.Reader, z *zstd.Decoder, solid *solidReader, left int64) error {
	f.reset()
	length, err := readLength(r, left)
	if err != nil || length == 0 {
		return err
	}
	count, err := readLength(r, min(length, frameLimit))
	if err != nil {
		return err
	}
	var sizes, stored [streams]int64
	total := int64(0)
	for i := range streams {
		if sizes[i], err = readLength(r, frameLimit); err != nil {
			return err
		}
		limit := sizes[i]
		if i == streamBytes && solid != nil {
			limit += solidExtra
		}
		if stored[i], err = readLength(r, limit); err != nil {
			return err
		}
		total += sizes[i]
	}
	if total > frameLimit || total-streamBytesExtra > length*streamBytesPerByte {
		return invalid("a frame with %d bytes in streams", total)
	}
	for i := range streams {
		var out []byte
		if i == streamBytes && solid != nil {
			out, err = solid.read(r, stored[i], sizes[i], f.streams[i])
		} else {
			out, err = readStored(r, z, stored[i], sizes[i], f.streams[i])
		}
		if err != nil {
			return fmt.Errorf("stream %d: %w", i+1, err)
		}
		f.streams[i] = out
	}
	f.length, f.count = length, int(count)
	return nil
}

// readStored appends to out, which is empty, what is stored in so many bytes: as it is, or compressed if its size is another.
func readStored(r io.Reader, z *zstd.Decoder, stored, size int64, out []byte) ([]byte, error) {
	raw, err := readAll(r, stored)
	switch {
	case err != nil:
		return nil, err
	case stored == size:
		return append(out, raw...), nil
	}
	if out, err = z.DecodeAll(raw, out); err != nil {
		return nil, invalid("decompressing: %v", err)
	}
	if int64(len(out)) != size {
		return nil, invalid("decompressing: %d bytes instead of %d", len(out), size)
	}
	return out, nil
}

// readAll reads n bytes.
func readAll(r io.Reader, n int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, n)) // allocates as bytes arrive
	if err == nil && int64(len(raw)) != n {
		err = errTruncated
	}
	return raw, err
}

// readLength reads a number up to limit.
func readLength(r *bufio.Reader, limit int64) (int64, error) {
	b, err := r.Peek(binary.MaxVarintLen64)
	if _, n := binary.Uvarint(b); n < 0 || n == 0 && len(b) == binary.MaxVarintLen64 {
		return 0, invalid("a length of more than 64 bits")
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	v, err := binary.ReadUvarint(r)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, errTruncated
	}
	if err != nil {
		return 0, err
	}
	if v > uint64(limit) {
		return 0, invalid("a length of %d where at most %d is possible", v, limit)
	}
	return int64(v), nil
}
