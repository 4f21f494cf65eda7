// Package zlib compresses to raw deflate streams that are equal, byte for byte, to those of
// three programs: the zlib library, pigz, and gzip. Other packages here rebuild a compressed
// layer from its content with it. To compress something new, use another package.
//
// RFC 1951 leaves open which matches a compressor uses, where blocks end and which of several
// equally good Huffman codes it chooses. For given options, these programs decide that in the
// same way in many versions, on all processors:
//
//   - zlib 1.2.6 to 1.3.1 at levels 1 to 9, and 1.2.0.5 to 1.2.5 if nothing is flushed. Level 0
//     was rewritten in zlib 1.2.11 and corrected in 1.2.12; the output here is what 1.2.12 writes, and
//     later versions. Versions of zlib that are tuned for one processor (zlib-ng, Cloudflare, Chromium,
//     Intel) write something else.
//   - pigz 2.3.4 to 2.8 at levels 1 to 9 with zlib 1.2.6 or later, without --rsyncable.
//   - gzip 1.5 to 1.12 at levels 1 to 9 without --rsyncable. Earlier versions sometimes differ in
//     the last bytes of a stream.
//
// How a program divides its input into calls has an effect in rare cases only, because zlib
// moves its window between calls: see Options.WriteSize. Flush has an effect always.
//
// A Writer needs about 500 kB of memory.
package zlib

import (
	"cmp"
	"errors"
	"fmt"
	"io"
)

// A Program is a program or library whose output is reproduced.
type Program string

// The programs.
const (
	Zlib Program = "zlib"
	Pigz Program = "pigz"
	Gzip Program = "gzip" // GNU gzip, which does not use zlib
)

// Options say how the original program compressed.
type Options struct {
	// Program is Zlib if it is empty.
	Program Program
	// Level is from 0 to 9; pigz and gzip have levels from 1.
	Level int
	// MemoryLevel is zlib's memLevel: 8, which is the default, or 9.
	MemoryLevel int
	// WriteSize is the number of bytes that a program gave to zlib in one call. With 0 it gave
	// all input in one call. The size of a call of Write is irrelevant.
	WriteSize int
	// OutputSize is the size of the buffer that a program gave to zlib in each call. It matters
	// for level 0 only, and needs a WriteSize. With 0 there is always enough room.
	OutputSize int

	// BlockSize is what pigz compresses at once (option -b), at least 32 KiB. The default is
	// 128 KiB.
	BlockSize int
	// Independent is pigz's option -i: blocks do not refer to earlier blocks.
	Independent bool
	// Sequential is how pigz runs on one processor (option -p 1).
	Sequential bool
}

// errClosed is returned by operations on a closed Writer.
var errClosed = errors.New("the writer is closed")

// A compressor is the part of a Writer that depends on the program.
type compressor interface {
	write(data []byte)
	flush() error
	finish()
	reset()
}

// A Writer compresses what is written to it.
type Writer struct {
	bits       bitWriter
	compressor compressor
	closed     bool
}

// NewWriter returns a Writer that writes to w. It refuses options that the program does not
// have.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	writer := &Writer{bits: newBitWriter(w)}
	switch {
	case o.Program == Pigz:
		writer.compressor = newPigz(&writer.bits, o)
	case o.Program == Gzip:
		writer.compressor = &gzip{newEncoder(&writer.bits, levels[o.Level], variant{
			symbols: 1<<15 - 1, hashBits: 15, gnu: true, earlyEnd: o.Level > 2,
		}, 0)}
	case o.Level == 0:
		writer.compressor = newStorer(&writer.bits, o)
	default:
		writer.compressor = &stream{encoder: newEncoder(&writer.bits, levels[o.Level], zlibVariant(o.MemoryLevel), o.WriteSize)}
	}
	return writer, nil
}

func zlibVariant(memory int) variant {
	memory = cmp.Or(memory, 8)
	return variant{symbols: 1<<(memory+6) - 1, hashBits: memory + 7, hashable: minMatch}
}

func (o Options) check() error {
	lowest := 1
	switch o.Program {
	case "", Zlib:
		lowest = 0
	case Pigz, Gzip:
		if o.MemoryLevel != 0 || o.WriteSize != 0 || o.OutputSize != 0 {
			return fmt.Errorf("%s has no memory level, write size or output size", o.Program)
		}
	default:
		return fmt.Errorf("unknown program %q", string(o.Program))
	}
	if o.Program != Pigz && (o.BlockSize != 0 || o.Independent || o.Sequential) {
		return errors.New("only pigz has blocks")
	}
	switch {
	case o.Level < lowest || o.Level > 9:
		return fmt.Errorf("level %d is not between %d and 9", o.Level, lowest)
	case o.MemoryLevel != 0 && o.MemoryLevel != 8 && o.MemoryLevel != 9:
		return fmt.Errorf("memory level %d is not 8 or 9", o.MemoryLevel)
	case o.WriteSize < 0 || o.OutputSize < 0:
		return errors.New("a write size is negative, or an output size")
	case o.Level == 0 && o.OutputSize > 0 && o.WriteSize == 0:
		return errors.New("an output size at level 0 needs a write size")
	case o.Level == 0 && (o.WriteSize > maxStoredCall || o.OutputSize > maxStoredCall):
		return fmt.Errorf("level 0 with calls of more than %d bytes is not supported", maxStoredCall)
	case o.BlockSize != 0 && (o.BlockSize < windowSize || o.BlockSize > 1<<30):
		return fmt.Errorf("block size %d is not between 32 KiB and 1 GiB", o.BlockSize)
	}
	return nil
}

// Write compresses data. An error is one of the underlying writer.
func (w *Writer) Write(data []byte) (int, error) {
	if w.closed {
		return 0, errClosed
	}
	w.compressor.write(data)
	if w.bits.err != nil {
		return 0, fmt.Errorf("writing compressed data: %w", w.bits.err)
	}
	return len(data), nil
}

// Flush compresses all data and appends an empty block, as zlib does with Z_SYNC_FLUSH. A second
// Flush without data in between does nothing. The other programs have no such operation.
func (w *Writer) Flush() error {
	if w.closed {
		return errClosed
	}
	if err := w.compressor.flush(); err != nil {
		return err
	}
	return w.send()
}

// Reset begins a new stream with the same options, which is written to to. What was not written
// before is discarded.
func (w *Writer) Reset(to io.Writer) {
	w.bits.reset(to)
	w.compressor.reset()
	w.closed = false
}

// Close ends the stream. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	w.compressor.finish()
	w.bits.align()
	return w.send()
}

func (w *Writer) send() error {
	w.bits.send()
	if w.bits.err != nil {
		return fmt.Errorf("writing compressed data: %w", w.bits.err)
	}
	return nil
}

// A stream is a stream of zlib.
type stream struct {
	*encoder
	flushed bool // nothing was written since
}

func (s *stream) write(data []byte) {
	if len(data) > 0 {
		s.flushed = false
		s.encoder.write(data)
	}
}

func (s *stream) flush() error {
	if !s.flushed {
		s.drain(false)
		writeStored(s.to, nil, false)
		s.flushed = true
	}
	return nil
}

func (s *stream) finish() { s.drain(true) }

func (s *stream) reset() {
	s.flushed = false
	s.encoder.reset()
}

// A gzip is a stream of GNU gzip.
type gzip struct {
	*encoder
}

func (g *gzip) flush() error { return errors.New("gzip does not flush its output") }

func (g *gzip) finish() { g.drain(true) }
