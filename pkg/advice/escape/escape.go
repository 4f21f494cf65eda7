// Package escape makes JSON and YAML safe to show on a terminal.
//
// encoding/json escapes the control characters of ASCII and leaves others as they are: U+009B begins
// a terminal sequence like ESC does, and U+202E reverses the direction of what follows. Both are in
// strings that Gantry only passes on, from catalogs, update graphs and registries. An escaped
// character has the same meaning for every program that reads the text.
package escape

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// is reports whether a character is escaped: a control character other than a line break or tab, or
// one that changes the direction of writing.
func is(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t' && r != '\r'
	case r < 0x7f:
		return false
	}
	return r < 0xa0 || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// Contains reports whether a text contains a character that is escaped.
func Contains(text string) bool { return strings.ContainsFunc(text, is) }

// JSON returns valid JSON with \u escapes in place of such characters. It may be YAML if they are
// only in double quotes. It returns text itself if it contains none.
func JSON(text []byte) []byte {
	if i := slices.IndexFunc(text, func(c byte) bool { return c >= 0x7f || is(rune(c)) }); i < 0 || bytes.IndexFunc(text[i:], is) < 0 {
		return text
	}
	var b bytes.Buffer
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if is(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.Write(text[:n]) // invalid UTF-8, too
		}
		text = text[n:]
	}
	return b.Bytes()
}

// Writer returns a writer that passes on what JSON returns for the text of each Write, which must be
// complete values.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ w io.Writer }

func (w writer) Write(p []byte) (int, error) {
	if _, err := w.w.Write(JSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
