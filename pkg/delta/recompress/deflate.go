package recompress

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
)

// A DeflateRecipe describes how content is compressed to one exact stream of raw deflate (RFC 1951), without the header and trailer of gzip, zlib or a
// zip file. The stream is one that a single compressor writes in one go: pgzip and pigz, which join blocks, are not among the compressors.
type DeflateRecipe struct {
	use         candidate
	fingerprint string
}

// A DeflateWriter compresses content to raw deflate. Close ends the stream, and Reset begins another one.
type DeflateWriter interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// MaxDeflateRecipe is the maximum length of a DeflateRecipe in bytes.
const MaxDeflateRecipe = 1 + maxName + 1 + binary.MaxVarintLen32 + fingerprintSize

// Compressor names the compressor with its level and, if it has one, the size of the writes to it.
func (r DeflateRecipe) Compressor() string { return r.use.String() }

// Requires returns what a program needs to follow the recipe, as Recipe.Requires does.
func (r DeflateRecipe) Requires() string { return r.use.requirement(r.fingerprint) }

// Check returns ErrUnsupported with the reason if this build of the program cannot follow the recipe.
func (r DeflateRecipe) Check() error {
	_, err := r.open()
	return err
}

// NewWriter returns a writer that compresses content to w. Like Check, it returns ErrUnsupported for a recipe that this build of the program cannot
// follow. It needs up to 2 MB of memory.
func (r DeflateRecipe) NewWriter(w io.Writer) (DeflateWriter, error) {
	e, err := r.open()
	if err != nil {
		return nil, err
	}
	e.Reset(w)
	return e, nil
}

func (r DeflateRecipe) open() (encoder, error) {
	c, ok := deflateCompressor(r.use)
	if !ok {
		return nil, fmt.Errorf("%w: it does not know %s", ErrUnsupported, r.Compressor())
	}
	e, err := c.open(r.use.level, r.use.size)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", r.use.name, err)
	}
	whole := Recipe{compressor: r.use.name, level: r.use.level, size: r.use.size, fingerprint: r.fingerprint}
	return e, whole.compare(c, e)
}

// deflateCompressor returns the compressor of a candidate that writes raw deflate in one go.
func deflateCompressor(use candidate) (compressor, bool) {
	c, ok := lookup(use.name)
	return c, ok && c.format == gzipFormat && (c.size == nil || c.size.rare) && c.accepts(use.level, use.size)
}

// MarshalBinary returns the recipe as bytes for ParseDeflate: the name of the compressor (its length, at most 32, and the bytes), the level (1 byte, two's
// complement), the size of the writes (a number; 0 if it has no effect), and the fingerprint (8 bytes). Numbers are unsigned varints.
func (r DeflateRecipe) MarshalBinary() ([]byte, error) {
	b := appendBytes(nil, []byte(r.use.name))
	b = append(b, byte(int8(r.use.level)))
	b = binary.AppendUvarint(b, uint64(r.use.size))
	sum, err := hex.DecodeString(r.fingerprint)
	return append(b, sum...), err
}

// ParseDeflate reads a recipe. It returns ErrRecipe for anything that MarshalBinary does not write, and ErrUnsupported for a compressor that this build of
// the program does not know. Whether it compresses as the recipe needs is what Check reports.
func ParseDeflate(b []byte) (DeflateRecipe, error) {
	p := parser{b: b}
	r := DeflateRecipe{use: candidate{name: string(p.bytes(maxName, "name")), level: p.level(), size: int(p.number(math.MaxInt32, "size of writes"))}}
	r.fingerprint = hex.EncodeToString(p.take(fingerprintSize))
	if p.err == nil && len(p.b) > 0 {
		p.fail("%d bytes follow it", len(p.b))
	}
	if p.err != nil {
		return DeflateRecipe{}, p.err
	}
	if _, ok := deflateCompressor(r.use); !ok {
		return DeflateRecipe{}, fmt.Errorf("%w: it does not know %.100q, level %d, writes of %d bytes", ErrUnsupported, r.use.name, r.use.level, r.use.size)
	}
	return r, nil
}
