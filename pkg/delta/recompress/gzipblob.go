package recompress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
)

// A blobReader reads a blob as parts. The content of a member must be read to its end before the next
// part is read. After the last part, next returns io.EOF.
type blobReader interface {
	next() (part, error)
	Close()
}

// A part is a member, with its gzip header if it has one, or raw bytes.
type part struct {
	raw     []byte
	header  []byte
	content io.Reader
}

// maxRaw limits the bytes of a blob that a recipe keeps as they are: headers, skippable frames and
// what follows the last member.
const maxRaw = 512 << 10

// maxHeader limits the header of a gzip member.
const maxHeader = 64 << 10

// errFormat is returned for blobs that are damaged or that no recipe can describe.
var errFormat = errors.New("unusable blob")

var gzipMagic = []byte{0x1f, 0x8b}

// gzipBlob reads gzip members.
type gzipBlob struct {
	r       *bufio.Reader
	inflate io.ReadCloser
	members int
}

func newGzipBlob(r io.Reader) *gzipBlob {
	return &gzipBlob{r: bufio.NewReaderSize(r, 64<<10)}
}

func (b *gzipBlob) Close() {}

func (b *gzipBlob) next() (part, error) {
	magic, err := b.r.Peek(len(gzipMagic))
	if len(magic) == 0 {
		return part{}, err // io.EOF at the end
	}
	if b.members > 0 && !bytes.Equal(magic, gzipMagic) {
		return b.rest()
	}
	header, err := readGzipHeader(b.r)
	if err != nil {
		return part{}, err
	}
	b.members++
	if b.inflate == nil {
		b.inflate = flate.NewReader(b.r)
	} else if err := b.inflate.(flate.Resetter).Reset(b.r, nil); err != nil {
		return part{}, err
	}
	return part{header: header, content: &gzipContent{blob: b}}, nil
}

// rest returns what follows the last member, for example padding.
func (b *gzipBlob) rest() (part, error) {
	raw, err := io.ReadAll(io.LimitReader(b.r, maxRaw+1))
	if err != nil {
		return part{}, err
	}
	if len(raw) > maxRaw {
		return part{}, fmt.Errorf("%w: more than %d bytes follow the compressed content", errFormat, maxRaw)
	}
	return part{raw: raw}, nil
}

// gzipContent is the content of a member. At its end, it skips the checksum and the length, which
// follow from the content.
type gzipContent struct {
	blob *gzipBlob
	err  error
}

func (c *gzipContent) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.blob.inflate.Read(p)
	if err == io.EOF {
		if _, e := c.blob.r.Discard(8); e != nil {
			err = unexpected(e)
		}
	}
	c.err = err
	return n, err
}

const (
	flagHeaderChecksum = 1 << 1
	flagExtra          = 1 << 2
	flagName           = 1 << 3
	flagComment        = 1 << 4
	fixedHeader        = 10
)

// readGzipHeader returns the bytes of a header (RFC 1952, section 2.3).
func readGzipHeader(r *bufio.Reader) ([]byte, error) {
	h := make([]byte, fixedHeader)
	if _, err := io.ReadFull(r, h); err != nil {
		return nil, unexpected(err)
	}
	if !bytes.HasPrefix(h, gzipMagic) || h[2] != 8 || h[3]&0xe0 != 0 {
		return nil, fmt.Errorf("%w: invalid gzip header", errFormat)
	}
	flags := h[3]
	if flags&flagExtra != 0 {
		var size [2]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return nil, unexpected(err)
		}
		extra := make([]byte, int(size[0])|int(size[1])<<8)
		if _, err := io.ReadFull(r, extra); err != nil {
			return nil, unexpected(err)
		}
		h = append(append(h, size[:]...), extra...)
	}
	for _, flag := range []byte{flagName, flagComment} {
		for flags&flag != 0 {
			c, err := r.ReadByte()
			if err != nil {
				return nil, unexpected(err)
			}
			if h = append(h, c); len(h) > maxHeader {
				return nil, fmt.Errorf("%w: gzip header above %d bytes", errFormat, maxHeader)
			}
			if c == 0 {
				break
			}
		}
	}
	if flags&flagHeaderChecksum != 0 {
		var sum [2]byte
		if _, err := io.ReadFull(r, sum[:]); err != nil {
			return nil, unexpected(err)
		}
		h = append(h, sum[:]...)
	}
	if len(h) > maxHeader {
		return nil, fmt.Errorf("%w: gzip header above %d bytes", errFormat, maxHeader)
	}
	return h, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
