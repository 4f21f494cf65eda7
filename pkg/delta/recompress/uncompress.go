package recompress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// formatOf returns the format of a blob by its first bytes.
func formatOf(magic []byte) format {
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		return gzipFormat
	case bytes.HasPrefix(magic, zstdMagic), isSkippable(magic):
		return zstdFormat
	}
	return uncompressed
}

// Uncompress returns the content of a blob, which is compressed with gzip or zstd, or not at all. It
// is the content from which a recipe makes the blob: the content of all members without what follows
// the last one. Checksums are not verified; verify the digest of the blob. The length is not limited;
// the window of zstd is limited to 32 MiB.
func Uncompress(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch formatOf(magic) {
	case gzipFormat:
		return &content{blob: newGzipBlob(b)}, nil
	case zstdFormat:
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("uncompressing zstd: %w", err)
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(b), nil
}

// content joins the content of all members.
type content struct {
	blob    blobReader
	current io.Reader
	err     error
}

func (c *content) Read(p []byte) (int, error) {
	for c.err == nil {
		if c.current == nil {
			var next part
			if next, c.err = c.blob.next(); c.err == nil {
				c.current = next.content // nil for raw bytes
			}
			continue
		}
		n, err := c.current.Read(p)
		if err == io.EOF {
			c.current = nil
		} else {
			c.err = err
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, c.err
}

func (c *content) Close() error {
	c.blob.Close()
	return nil
}
