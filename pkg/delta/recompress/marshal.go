package recompress

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
)

// Limits of recipes. A layer in the format estargz has a member for each file.
const (
	// MaxRecipeSize is the maximum length of a recipe in bytes.
	MaxRecipeSize  = 1 << 20
	maxSegments    = 1 << 17
	maxHeaders     = 16
	maxName        = 32
	maxContentSize = 1 << 50
)

// recipeVersion is the first byte of a recipe.
const recipeVersion = 1

// ErrRecipe is returned for bytes that are not a recipe.
var ErrRecipe = errors.New("invalid recipe")

// MarshalBinary returns the recipe as bytes for Parse. Numbers are unsigned varints:
//
//	version                  1 byte, 1
//	name of the compressor   length (at most 32), bytes
//	level                    1 byte, two's complement
//	block size               number, or the size of the writes to the compressor; 0 if there is none
//	fingerprint              8 bytes; none has no fingerprint
//	gzip headers             count (at most 16), then for each: length, bytes
//	segments                 count (at most 131,072), then for each:
//	                         0, length, bytes: these bytes as they are, or
//	                         1 + index of the gzip header (0 without gzip), length of the content
//
// The compressors are none, zlib, zlib-memory9 (with the memory level 9), gnu-gzip, pigz (also
// pigz-sequential and pigz-independent, its options -p 1 and -i), go-gzip, klauspost-gzip, pgzip and
// klauspost-zstd. A member is compressed by itself: with gzip, it is the header, raw deflate, and the
// checksum and length of RFC 1952.
//
// The form is canonical: headers are distinct and in the order of their first use, and no raw
// segment follows another.
func (r *Recipe) MarshalBinary() ([]byte, error) {
	b := []byte{recipeVersion}
	b = appendBytes(b, []byte(r.compressor))
	b = append(b, byte(int8(r.level)))
	b = binary.AppendUvarint(b, uint64(r.size))
	sum, err := hex.DecodeString(r.fingerprint)
	if err != nil {
		return nil, err
	}
	b = append(b, sum...)
	b = binary.AppendUvarint(b, uint64(len(r.headers)))
	for _, h := range r.headers {
		b = appendBytes(b, h)
	}
	b = binary.AppendUvarint(b, uint64(len(r.segments)))
	for _, s := range r.segments {
		if s.raw != nil {
			b = appendBytes(append(b, 0), s.raw)
			continue
		}
		b = binary.AppendUvarint(b, uint64(s.header)+1)
		b = binary.AppendUvarint(b, uint64(s.length))
	}
	if len(b) > MaxRecipeSize {
		return nil, fmt.Errorf("the recipe has %d bytes; the limit is %d", len(b), MaxRecipeSize)
	}
	return b, nil
}

func appendBytes(b, p []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(p))), p...)
}

// Parse reads a recipe. It returns ErrRecipe for anything that MarshalBinary does not write, and
// ErrUnsupported for a newer version of recipes or a compressor that this build of the program does
// not know. Whether it compresses as the recipe needs is what Check reports.
func Parse(b []byte) (*Recipe, error) {
	if len(b) > MaxRecipeSize {
		return nil, fmt.Errorf("%w: %d bytes; the limit is %d", ErrRecipe, len(b), MaxRecipeSize)
	}
	if len(b) > 0 && b[0] > recipeVersion {
		return nil, fmt.Errorf("%w: recipes of version %d need a newer version of the program", ErrUnsupported, b[0])
	}
	p := parser{b: b}
	if v := p.take(1); p.err == nil && v[0] != recipeVersion {
		p.fail("version 0")
	}
	r := &Recipe{compressor: string(p.bytes(maxName, "name")), level: p.level(), size: int(p.number(math.MaxInt32, "block size"))}
	if p.err != nil {
		return nil, p.err
	}
	c, ok := lookup(r.compressor)
	if !ok || !c.accepts(r.level, r.size) {
		return nil, fmt.Errorf("%w: it does not know %.100q, level %d, block size %d", ErrUnsupported, r.compressor, r.level, r.size)
	}
	if c.format != uncompressed {
		r.fingerprint = hex.EncodeToString(p.take(fingerprintSize))
	}
	p.headers(r, c)
	p.segments(r, c)
	if p.err == nil && len(p.b) > 0 {
		p.fail("%d bytes follow it", len(p.b))
	}
	if p.err != nil {
		return nil, p.err
	}
	return r, nil
}
