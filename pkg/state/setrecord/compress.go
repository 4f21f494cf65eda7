package setrecord

import (
	"compress/gzip"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/opencontainers/go-digest"
)

// digestOf returns the digest of the text that write writes.
func digestOf(write func(io.Writer) error) (digest.Digest, error) {
	d := digest.Canonical.Digester()
	if err := write(d.Hash()); err != nil {
		return "", err
	}
	return d.Digest(), nil
}

// compress writes what write writes, compressed. The same text gives the same bytes.
func compress(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z := gzip.NewWriter(w) // its header has neither a name nor a time
		return errors.Join(write(z), z.Close())
	}
}

// A textReader reads the text of a layer. At its end, it compares the digest with the one in the annotations.
type textReader struct {
	layer io.ReadCloser
	z     *gzip.Reader
	hash  hash.Hash
	want  digest.Digest
	left  int64 // bytes until the limit
}

// readText returns the text of a layer.
func readText(layer io.ReadCloser, want digest.Digest) (io.ReadCloser, error) {
	z, err := gzip.NewReader(layer)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading gzip: %w", err), layer.Close())
	}
	return &textReader{layer: layer, z: z, hash: digest.Canonical.Hash(), want: want, left: maxText}, nil
}

func (t *textReader) Read(p []byte) (int, error) {
	n, err := t.z.Read(p)
	if t.left -= int64(n); t.left < 0 {
		return 0, fmt.Errorf("its text is longer than %d bytes", maxText)
	}
	_, _ = t.hash.Write(p[:n]) // documented never to fail
	if errors.Is(err, io.EOF) {
		if got := digest.NewDigest(digest.Canonical, t.hash); got != t.want {
			return 0, fmt.Errorf("its text has the digest %s, and its manifest says %s", got, t.want)
		}
	}
	return n, err //nolint:wrapcheck // io.EOF
}

func (t *textReader) Close() error { return errors.Join(t.z.Close(), t.layer.Close()) }
