package recompress

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// A parser reads from the front of b. After the first error, it returns zero values.
type parser struct {
	b   []byte
	err error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", ErrRecipe, fmt.Sprintf(format, args...))
	}
	p.b = nil
}

func (p *parser) take(n int) []byte {
	if p.err != nil || n > len(p.b) {
		p.fail("it ends early")
		return nil
	}
	taken := p.b[:n:n]
	p.b = p.b[n:]
	return taken
}

func (p *parser) level() int {
	if b := p.take(1); b != nil {
		return int(int8(b[0]))
	}
	return 0
}

// number reads a varint in its shortest form.
func (p *parser) number(limit int64, what string) int64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 || n > 1 && p.b[n-1] == 0 {
		p.fail("invalid %s", what)
		return 0
	}
	if v > uint64(limit) {
		p.fail("%s %d is above the limit %d", what, v, limit)
		return 0
	}
	p.b = p.b[n:]
	return int64(v)
}

func (p *parser) bytes(limit int64, what string) []byte {
	return p.take(int(p.number(limit, "length of the "+what)))
}

func (p *parser) headers(r *Recipe, c compressor) {
	limit := int64(0)
	if c.format == gzipFormat {
		limit = maxHeaders
	}
	for range p.number(limit, "number of gzip headers") {
		h := slices.Clone(p.bytes(maxHeader, "gzip header"))
		in := bufio.NewReader(bytes.NewReader(h))
		if read, err := readGzipHeader(in); p.err == nil && (err != nil || len(read) != len(h)) {
			p.fail("invalid gzip header")
		}
		if slices.ContainsFunc(r.headers, func(o []byte) bool { return bytes.Equal(o, h) }) {
			p.fail("a gzip header occurs twice")
		}
		r.headers = append(r.headers, h)
	}
}

func (p *parser) segments(r *Recipe, c compressor) {
	used, left, members, raw := 0, int64(maxContentSize), 0, 0
	count := p.number(maxSegments, "number of segments")
	r.segments = make([]segment, 0, min(count, int64(len(p.b))))
	for range count {
		kind := p.number(max(int64(len(r.headers)), 1), "header of a member")
		switch {
		case p.err != nil:
			return
		case kind == 0:
			b := p.bytes(maxRaw, "raw segment")
			if raw += len(b); len(b) == 0 || raw > maxRaw || c.format == uncompressed {
				p.fail("invalid raw segment")
			}
			if n := len(r.segments); n > 0 && r.segments[n-1].raw != nil {
				p.fail("a raw segment follows another")
			}
			r.segments = append(r.segments, segment{raw: slices.Clone(b)})
		default:
			s := segment{header: int(kind) - 1, length: p.number(left, "length of a member")}
			if left -= s.length; s.header > used {
				p.fail("gzip headers are not in the order of their use")
			}
			used, members = max(used, s.header+1), members+1
			r.segments = append(r.segments, s)
		}
	}
	switch {
	case c.format == gzipFormat && (members == 0 || used != len(r.headers)):
		p.fail("a gzip header is not used")
	case c.format == uncompressed && members != 1:
		p.fail("%d members are uncompressed", members)
	}
}
