package archive

import (
	"bytes"
	"io"

	"github.com/opencontainers/go-digest"
)

// writeBytes returns a WriteFunc for a file that is in memory.
func writeBytes(raw []byte) WriteFunc {
	return func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	}
}

// A WriteFunc writes a file, the same bytes each time it is called. The file may be too large for
// memory.
type WriteFunc func(io.Writer) error

// measure returns the digest and length of the bytes that t writes.
func (t WriteFunc) measure() (digest.Digest, int64, error) {
	h := digest.SHA256.Digester()
	n := countingWriter{w: h.Hash()}
	err := t(&n)
	return h.Digest(), n.n, err
}

// keptFile is the length in bytes up to which measureOnce keeps a file.
const keptFile = 256 << 10

// measureOnce is measure. It also returns a function that writes the same bytes: a short file is kept in memory, so
// that t does not make it a second time.
func (t WriteFunc) measureOnce() (same WriteFunc, d digest.Digest, size int64, err error) {
	var kept bytes.Buffer
	d, size, err = WriteFunc(func(w io.Writer) error { return t(io.MultiWriter(w, &firstBytes{&kept})) }).measure()
	if size > keptFile {
		return t, d, size, err
	}
	return writeBytes(kept.Bytes()), d, size, err
}

// firstBytes keeps the first bytes of a file, a few more than keptFile.
type firstBytes struct{ kept *bytes.Buffer }

func (f *firstBytes) Write(p []byte) (int, error) {
	if f.kept.Len() <= keptFile {
		f.kept.Write(p)
	}
	return len(p), nil
}

// A countingWriter counts what is written to w.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
