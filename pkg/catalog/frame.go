package catalog

import (
	"bytes"
	"errors"
	"io"
)

// maxObject is the longest object or YAML document that is read. The largest
// bundles in public catalogs are a few megabytes.
const maxObject = 16 << 20

// errTooLong says that an object is longer than maxObject.
var errTooLong = errors.New("the object is larger than 16 MiB")

// A framer cuts a stream of JSON objects into objects without judging them: it
// counts brackets outside of strings, which for a valid object finds exactly its
// end. It holds one object at a time and reads each byte once.
type framer struct {
	r io.Reader
	// buf[start:end] is what was read and not yet taken.
	buf        []byte
	start, end int
	line       int // of buf[start], from 1
	eof        bool
}

// reset makes the framer read r. It keeps its buffer.
func (f *framer) reset(r io.Reader) {
	if f.buf == nil {
		f.buf = make([]byte, 256<<10)
	}
	*f = framer{r: r, buf: f.buf, line: 1}
}

// fill reads more behind end, and makes room for it. It returns io.EOF when
// there is no more, and errTooLong when start is maxObject behind.
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

// structural marks the bytes that matter outside of strings.
var structural = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// object returns the object that begins at start, and the line that it begins
// on. The bytes are good until the next call. An object that does not end is
// returned as far as it goes, so that a parser can say what is missing.
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
					return f.take(at), line, nil
				}
			}
		}
		switch err := f.fill(); err {
		case nil:
		case io.EOF:
			return f.take(at), line, nil
		default:
			return nil, line, err
		}
	}
}

// take returns n bytes from start and steps over them.
func (f *framer) take(n int) []byte {
	text := f.buf[f.start : f.start+n]
	f.line += bytes.Count(text, []byte{'\n'})
	f.start += n
	return text
}

// rest is what was not yet taken, with what is still to be read.
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
