package delta

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "crypto/sha512" // digests of blobs may be sha512
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/delta/packed"
)

const (
	magic     = "gantry delta\n"
	maxHeader = MaxRecipe + 8192
	maxDigest = 140 // sha512:HEX is 135 bytes
)

// Versions of the format. In Solid, the inserted bytes of all frames are compressed together, and a program's calls among them are written as absolute
// addresses. Programs from before it read only Plain.
const (
	Plain = 1
	Solid = 2
)

// ErrInvalid is wrapped by every error about the form of a delta. Errors of reading and writing do not wrap it.
var ErrInvalid = errors.New("invalid delta")

// ErrVersion is wrapped if a delta has a newer format than this package reads.
var ErrVersion = errors.New("unknown version of the delta format")

// Header is what precedes the frames of a delta.
type Header struct {
	Version     int           // Plain or Solid; 0 is Plain
	Digest      digest.Digest // of the blob that the delta describes
	Size        int64         // of that blob
	ContentSize int64         // of its uncompressed content
	ContentHash [sha256.Size]byte
	Recipe      []byte
	Bases       []BaseInfo
}

// BaseInfo names a base in a Header.
type BaseInfo struct {
	Digest      digest.Digest // of the blob
	ContentSize int64         // of its uncompressed content
}

// MarshalBinary returns the header as ReadHeader reads it.
func (h *Header) MarshalBinary() ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	var b []byte
	b = appendText(b, string(h.Digest))
	b = binary.AppendUvarint(b, uint64(h.Size))
	b = binary.AppendUvarint(b, uint64(h.ContentSize))
	b = append(b, h.ContentHash[:]...)
	b = appendText(b, string(h.Recipe))
	b = binary.AppendUvarint(b, uint64(len(h.Bases)))
	for _, base := range h.Bases {
		b = appendText(b, string(base.Digest))
		b = binary.AppendUvarint(b, uint64(base.ContentSize))
	}
	out := append([]byte(magic), byte(cmp.Or(h.Version, Plain)))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
	return append(out, b...), nil
}

func (h *Header) check() error {
	if h.Version < 0 || h.Version > Solid {
		return fmt.Errorf("%w: %d; this program reads versions up to %d", ErrVersion, h.Version, Solid)
	}
	if err := checkDigest(h.Digest); err != nil {
		return err
	}
	if h.Size < 0 || h.ContentSize < 0 {
		return invalid("negative length")
	}
	if len(h.Recipe) > MaxRecipe {
		return invalid("the recipe has %d bytes; at most %d are allowed", len(h.Recipe), MaxRecipe)
	}
	if len(h.Bases) > MaxBases {
		return invalid("%d bases; at most %d are allowed", len(h.Bases), MaxBases)
	}
	total := int64(0)
	for _, base := range h.Bases {
		if err := checkDigest(base.Digest); err != nil {
			return err
		}
		if base.ContentSize < 0 || base.ContentSize > maxAddress-total {
			return invalid("length of base %s", base.Digest)
		}
		total += base.ContentSize
	}
	return nil
}

func checkDigest(d digest.Digest) error {
	if len(d) > maxDigest || d.Validate() != nil {
		return invalid("digest %.150q", string(d))
	}
	return nil
}

// ReadHeader reads the header from the start of a delta, and not a byte more. It refuses what MarshalBinary does not write.
func ReadHeader(r io.Reader) (*Header, error) {
	fixed := make([]byte, len(magic)+1+4)
	if err := readFull(r, fixed); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	if string(fixed[:len(magic)]) != magic {
		return nil, invalid("the file does not begin as a delta does")
	}
	version := int(fixed[len(magic)])
	if version < Plain || version > Solid {
		return nil, fmt.Errorf("%w: %d; this program reads versions up to %d", ErrVersion, version, Solid)
	}
	n := binary.LittleEndian.Uint32(fixed[len(magic)+1:])
	if n > maxHeader {
		return nil, invalid("the header has %d bytes; at most %d are allowed", n, maxHeader)
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n))) // allocates as bytes arrive
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	if len(b) != int(n) {
		return nil, fmt.Errorf("reading the header: %w", errTruncated)
	}
	h, err := parseHeader(version, b)
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	again, err := h.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	if !bytes.Equal(again[len(fixed):], b) {
		return nil, invalid("the header is not in canonical form")
	}
	return h, nil
}

func parseHeader(version int, b []byte) (*Header, error) {
	f := fields{packed.Fields{B: b}}
	h := &Header{Version: version, Digest: digest.Digest(f.text(maxDigest)), Size: f.length(), ContentSize: f.length()}
	copy(h.ContentHash[:], f.Take(sha256.Size))
	h.Recipe = bytes.Clone(f.text(MaxRecipe))
	for range min(f.length(), MaxBases+1) {
		h.Bases = append(h.Bases, BaseInfo{Digest: digest.Digest(f.text(maxDigest)), ContentSize: f.length()})
	}
	if f.Bad || len(f.B) > 0 {
		return nil, invalid("fields of the header")
	}
	return h, nil
}

// fields reads fields of a header or stream.
type fields struct{ packed.Fields }

func (f *fields) length() int64 { return f.Number(math.MaxInt64) }

func (f *fields) text(limit int64) []byte { return f.Take(int(f.Number(limit))) }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errTruncated = invalid("it ends too early")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// readFull is io.ReadFull with an end of the file as an invalid delta.
func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTruncated
	}
	return err
}
