package recompress

import (
	"compress/flate"
	"io"

	kflate "github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
)

// plain writes content as it is.
type plain struct{ w io.Writer }

func openNone(int, int) (encoder, error) { return &plain{w: io.Discard}, nil }

func (p *plain) Write(b []byte) (int, error) { return p.w.Write(b) }
func (p *plain) Close() error                { return nil }
func (p *plain) Reset(w io.Writer)           { p.w = w }

func openGoDeflate(level, _ int) (encoder, error) { return flate.NewWriter(io.Discard, level) }

func openKlauspostDeflate(level, _ int) (encoder, error) {
	return kflate.NewWriter(io.Discard, level)
}

// openZstd uses one goroutine: the number does not change the output, and each has tables of up to 40
// MB. Less memory does not change the output either.
func openZstd(level, _ int) (encoder, error) {
	return zstd.NewWriter(io.Discard, zstd.WithEncoderLevel(zstd.EncoderLevel(level)), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
}

// openZlib returns how to compress with options, at a level, with the size of blocks or writes.
func openZlib(o zlib.Options) func(level, size int) (encoder, error) {
	return func(level, size int) (encoder, error) {
		with := o
		with.Level = level
		if o.Program == zlib.Pigz {
			with.BlockSize = size
		} else {
			with.WriteSize = size
		}
		return zlib.NewWriter(io.Discard, with)
	}
}
