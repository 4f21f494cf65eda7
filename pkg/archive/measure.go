package archive

import (
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
