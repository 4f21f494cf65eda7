package recompress

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync"
)

// A comparer compares what is written with a blob. Write returns errDiffers at the first difference.
type comparer struct {
	blob   io.ReaderAt
	size   int64
	at     int64 // offset of the buffered bytes that were not compared yet
	buffer []byte
	unread []byte
}

func newComparer(blob io.ReaderAt, size int64) *comparer {
	return &comparer{blob: blob, size: size}
}

func (c *comparer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if len(c.unread) == 0 {
			if err := c.fill(); err != nil {
				return 0, err
			}
		}
		k := min(len(p), len(c.unread))
		if !bytes.Equal(p[:k], c.unread[:k]) {
			return 0, errDiffers
		}
		p, c.unread, c.at = p[k:], c.unread[k:], c.at+int64(k)
	}
	return n, nil
}

// fill reads little at first, since most candidates differ in the first block.
func (c *comparer) fill() error {
	k := min(int64(max(4<<10, min(2*len(c.buffer), 128<<10))), c.left())
	if k == 0 {
		return errDiffers // more than the blob
	}
	if int64(len(c.buffer)) < k {
		c.buffer = make([]byte, k)
	}
	n, err := c.blob.ReadAt(c.buffer[:k], c.at)
	if int64(n) < k {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	c.unread = c.buffer[:k]
	return nil
}

func (c *comparer) left() int64 { return c.size - c.at }

// blobInput keeps the first error of reading the blob, so that it is not taken for damage.
type blobInput struct {
	io.ReaderAt
	mu  sync.Mutex
	err error
}

func (b *blobInput) ReadAt(p []byte, at int64) (int, error) {
	n, err := b.ReaderAt.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = cmp.Or(b.err, err)
	}
	return n, err
}

func (b *blobInput) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
