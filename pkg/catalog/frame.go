package catalog

import (
	"bytes"
	"errors"
	"io"
)

// maxObject is the maximum size of an object or YAML document. The largest bundles in public
// catalogs have a few megabytes.
const maxObject = 16 << 20

// errTooLong reports an object larger than maxObject.
var errTooLong = errors.New("the object is larger than 16 MiB")

// A framer splits a stream of JSON objects without validating them: it counts brackets outside of
// strings, which finds the exact end of a valid object. It keeps one object at a time and reads
// each byte once.
type framer struct {
	r io.Reader
	// buf[start:end] was read and is not consumed yet.
	buf        []byte
	start, end int
	line       int // of buf[start], from 1
	eof        bool
}

// reset makes the framer read r. It keeps the buffer.
func (f *framer) reset(r io.Reader) {
	if f.buf == nil {
		f.buf = make([]byte, 256<<10)
	}
	*f = framer{r: r, buf: f.buf, line: 1}
}

// fill reads more bytes after end, and grows or moves the buffer. It returns io.EOF at the end of
// input, and errTooLong if the object exceeds maxObject.
func (f *framer) fill() error {
	if f.eof {
		return io.EOF
	}
	if f.end == len(f.buf) && f.start > 0 {
		f.end = copy(f.buf, f.buf[f.start:f.end])
		f.start = 0
	}
	if f.end == len(f.buf) {
		if len(f.buf) >= maxObject {
			return errTooLong
		}
		f.buf = append(f.buf, make([]byte, len(f.buf))...)
	}
	for range 100 {
		n, err := f.r.Read(f.buf[f.end:])
		f.end += n
		if err == io.EOF {
			f.eof = true
		} else if err != nil {
			return err
		}
		if n > 0 {
			return nil
		}
		if f.eof {
			return io.EOF
		}
	}
	return io.ErrNoProgress
}

// next skips white space and returns the first byte after it, or io.EOF.
func (f *framer) next() (byte, error) {
	for {
		for ; f.start < f.end; f.start++ {
			switch c := f.buf[f.start]; c {
			case '\n':
				f.line++
			case ' ', '\t', '\r':
			default:
				return c, nil
			}
		}
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
}

// space skips white space and returns it, with the first byte after it, or io.EOF.
func (f *framer) space() (skipped []byte, c byte, err error) {
	for {
		at := skipSpace(f.buf[:f.end], f.start)
		skipped = append(skipped, f.consume(at-f.start)...)
		if len(skipped) > maxObject {
			return nil, 0, errTooLong
		}
		if f.start < f.end {
			return skipped, f.buf[f.start], nil
		}
		if err := f.fill(); err != nil {
			return skipped, 0, err
		}
	}
}

// structural marks the bytes with a meaning outside of strings.
var structural = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// object returns the object that begins at start, with its line. The bytes are valid until the next
// call. An incomplete object is returned as far as it goes, so that a parser can report what is
// missing.
func (f *framer) object() (text []byte, line int, err error) {
	line = f.line
	depth, at, quoted := 0, 0, false
	for {
		text = f.buf[f.start:f.end]
		for at < len(text) {
			if quoted {
				n := bytes.IndexByte(text[at:], '"')
				if n < 0 {
					at = len(text)
					break
				}
				at += n + 1
				quoted = escaped(text[:at-1])
				continue
			}
			c := text[at]
			at++
			if !structural[c] {
				continue
			}
			switch c {
			case '"':
				quoted = true
			case '{', '[':
				depth++
			default:
				if depth--; depth == 0 {
					return f.consume(at), line, nil
				}
			}
		}
		switch err := f.fill(); err {
		case nil:
		case io.EOF:
			return f.consume(at), line, nil
		default:
			return nil, line, err
		}
	}
}

// consume returns n bytes from start and skips them.
func (f *framer) consume(n int) []byte {
	text := f.buf[f.start : f.start+n]
	f.line += bytes.Count(text, []byte{'\n'})
	f.start += n
	return text
}

// rest returns everything that is not consumed yet, including unread input.
func (f *framer) rest() io.Reader {
	return io.MultiReader(bytes.NewReader(f.buf[f.start:f.end]), f.r)
}

// escaped reports whether text ends in an odd number of backslashes.
func escaped(text []byte) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
