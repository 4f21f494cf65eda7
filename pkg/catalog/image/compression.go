package image

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxUnpacked is how many bytes the layers of one image may unpack to. The
// catalog images of 2026 stay below 3 GB.
const maxUnpacked = 16 << 30

// maxWindow is the memory that a zstd stream may ask for; what "zstd --long"
// writes.
const maxWindow = 128 << 20

var errTooLarge = errors.New("the layers of the image unpack to more than is read")

// A budget is a number of bytes that several readers may take together.
type budget struct {
	left atomic.Int64
}

func newBudget(n int64) *budget {
	b := &budget{}
	b.left.Store(n)
	return b
}

// limit returns a reader that takes from the budget what it reads from r.
func (b *budget) limit(r io.Reader) io.Reader {
	return limited{r, b}
}

type limited struct {
	r io.Reader
	b *budget
}

func (l limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.b.left.Add(-int64(n)) < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// unpack undoes the compression of a layer: gzip, zstd or none, by its first
// bytes, since media types are not always right about it.
func unpack(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 256<<10)
	magic, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpacking gzip: %w", err)
		}
		return z, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), isSkippable(magic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("unpacking zstd: %w", err)
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(b), nil
}

// isSkippable knows the frames that zstd:chunked writes around its data
// (RFC 8878, section 3.1.2).
func isSkippable(magic []byte) bool {
	return len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
}
