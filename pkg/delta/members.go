package delta

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
)

const (
	block         = 512
	maxMembers    = 100_000   // members beyond that are one
	maxExtension  = 1 << 20   // bytes of a pax or GNU header
	indexBuffer   = 256 << 10 // bytes read at once
	hashedContent = 16        // bytes of a member's hash
)

// Member is a file in a layer: a header and its content. The members of a layer follow each other without gaps, from the first byte to the last.
type Member struct {
	Path   string              // as in the tar file without a leading "./" or "/"; "" for content that is not a tar file, and for its end
	Start  int64               // first byte, including headers
	Offset int64               // first byte of the content
	Size   int64               // of the content
	End    int64               // the next member's Start
	Hash   [hashedContent]byte // the first bytes of the content's sha256; members of the same content have the same
}

// Members describes uncompressed content.
type Members struct {
	Files  []Member
	SHA256 [sha256.Size]byte // of the whole content
	Size   int64
}

// Index reads content once and returns its tar members. Content that is no tar file, or that stops being one, is a member without a path from there on.
func Index(content io.ReaderAt, size int64) (*Members, error) {
	return index(context.Background(), content, size)
}

func index(ctx context.Context, content io.ReaderAt, size int64) (*Members, error) {
	x := &indexer{size: size, whole: sha256.New()}
	x.r = bufio.NewReaderSize(io.NewSectionReader(content, 0, size), indexBuffer)
	m := &Members{Size: size}
	for x.at < size {
		f, err := x.next(ctx, len(m.Files) < maxMembers)
		if err != nil {
			return nil, fmt.Errorf("reading content at %d: %w", x.at, err)
		}
		m.Files = append(m.Files, f)
	}
	x.whole.Sum(m.SHA256[:0])
	return m, nil
}

type indexer struct {
	r     *bufio.Reader
	whole hash.Hash
	at    int64
	size  int64
}

// next reads a member: its headers, content and padding. If tar is false or there is no tar header, it reads all that is left.
func (x *indexer) next(ctx context.Context, tar bool) (Member, error) {
	m := Member{Start: x.at, Offset: x.at, Size: x.size - x.at, End: x.size}
	path, length := "", int64(-1)
	for tar {
		h, ok, err := x.header()
		if err != nil {
			return m, err
		}
		if !ok {
			break
		}
		content := h.size
		if !h.extension() && length >= 0 {
			content = length
		}
		if content > x.size-x.at-block {
			break // the header claims more than there is
		}
		if err := x.skip(ctx, block, nil); err != nil {
			return m, err
		}
		if !h.extension() {
			path = cmp.Or(path, h.path)
			m.Path, m.Offset, m.Size = cleanPath(path), x.at, content
			m.End = min(x.size, x.at+(content+block-1)/block*block)
			break
		}
		p, n, err := x.extension(ctx, h)
		if err != nil {
			return m, err
		}
		if p != "" {
			path = p
		}
		if n >= 0 {
			length = n
		}
	}
	if m.Offset == m.Start {
		m.Offset, m.Size = x.at, x.size-x.at // headers without a file
	}
	sum := sha256.New()
	if err := x.skip(ctx, m.Size, sum); err != nil {
		return m, err
	}
	copy(m.Hash[:], sum.Sum(nil))
	return m, x.skip(ctx, m.End-x.at, nil)
}

// skip reads n bytes.
func (x *indexer) skip(ctx context.Context, n int64, sum io.Writer) error {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := x.r.Peek(int(min(n, indexBuffer)))
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		x.whole.Write(b)
		if sum != nil {
			if _, err := sum.Write(b); err != nil {
				return err
			}
		}
		if _, err := x.r.Discard(len(b)); err != nil {
			return err
		}
		x.at += int64(len(b))
		n -= int64(len(b))
	}
	return nil
}

type tarHeader struct {
	kind byte
	path string
	size int64
}

// extension is true for headers that describe the next file.
func (h tarHeader) extension() bool { return strings.IndexByte("xgLK", h.kind) >= 0 }

// header looks at the next block. It is false if that is not a header of a tar file.
func (x *indexer) header() (tarHeader, bool, error) {
	if x.size-x.at < block {
		return tarHeader{}, false, nil
	}
	b, err := x.r.Peek(block)
	if err != nil {
		return tarHeader{}, false, err
	}
	sum := int64(8 * ' ')
	for i, c := range b {
		if i < 148 || i >= 156 {
			sum += int64(c)
		}
	}
	if want, ok := tarNumber(b[148:156]); !ok || want != sum {
		return tarHeader{}, false, nil
	}
	h := tarHeader{kind: b[156], path: tarText(b[:100])}
	if string(b[257:262]) == "ustar" && b[262] == 0 {
		if prefix := tarText(b[345:500]); prefix != "" {
			h.path = prefix + "/" + h.path
		}
	}
	size, ok := tarNumber(b[124:136])
	if !ok || size < 0 {
		return tarHeader{}, false, nil
	}
	if strings.IndexByte("123456", h.kind) < 0 { // links, devices and folders have no content
		h.size = size
	}
	return h, true, nil
}

// extension reads the content of an extension header: a path and a length, if it has any.
func (x *indexer) extension(ctx context.Context, h tarHeader) (path string, size int64, err error) {
	size = -1
	padded := min((h.size+block-1)/block*block, x.size-x.at)
	if h.size > maxExtension {
		return "", size, x.skip(ctx, padded, nil)
	}
	var b bytes.Buffer
	if err := x.skip(ctx, h.size, &b); err != nil {
		return "", size, err
	}
	if err := x.skip(ctx, padded-h.size, nil); err != nil {
		return "", size, err
	}
	switch h.kind {
	case 'L':
		path = tarText(b.Bytes())
	case 'x':
		path, size = paxRecords(b.String())
	}
	return path, size, nil
}

func paxRecords(s string) (path string, size int64) {
	size = -1
	for s != "" {
		number, rest, ok := strings.Cut(s, " ")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n <= len(number)+1 || n > len(s) {
			return path, size
		}
		record := strings.TrimSuffix(rest[:n-len(number)-1], "\n")
		s = s[n:]
		switch key, value, _ := strings.Cut(record, "="); key {
		case "path":
			path = value
		case "size":
			if v, err := strconv.ParseInt(value, 10, 64); err == nil && v >= 0 {
				size = v
			}
		}
	}
	return path, size
}

func tarText(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

// tarNumber reads octal digits, or base 256.
func tarNumber(b []byte) (int64, bool) {
	if b[0] == 0x80 {
		v := int64(0)
		for _, c := range b[1:] {
			if v >= 1<<54 {
				return 0, false
			}
			v = v<<8 | int64(c)
		}
		return v, true
	}
	text := strings.Trim(string(b), " \x00")
	if text == "" {
		return 0, true
	}
	v, err := strconv.ParseInt(text, 8, 64)
	return v, err == nil
}

func cleanPath(path string) string {
	return strings.TrimLeft(strings.TrimPrefix(path, "./"), "/")
}
