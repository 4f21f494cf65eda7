package page

import (
	"bufio"
	"fmt"
	"html"
	"strings"
	"unicode"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
)

// A builder writes HTML. All texts and values of attributes are escaped, and names of elements and attributes are constants
// of this package. html/template would do that, too, and make the program 4 MB larger: it finds methods by name.
type builder struct{ *bufio.Writer }

// open begins an element. attributes are names and values in turn; those without a value are left out.
func (b builder) open(element string, attributes ...string) {
	fmt.Fprintf(b, "<%s", element)
	for i := 0; i+1 < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			fmt.Fprintf(b, ` %s="%s"`, attributes[i], clean(attributes[i+1]))
		}
	}
	b.raw(">")
}

// end ends elements, the innermost first.
func (b builder) end(elements ...string) {
	for _, e := range elements {
		fmt.Fprintf(b, "</%s>", e)
	}
	b.raw("\n")
}

// element writes an element with a text; nothing without a text.
func (b builder) element(element, text string, attributes ...string) {
	if text == "" {
		return
	}
	b.open(element, attributes...)
	fmt.Fprintf(b, "%s</%s>", clean(text), element)
}

// text writes a text.
func (b builder) text(s string) { b.raw(clean(s)) }

// raw writes HTML. An error stays in the writer until it is flushed.
func (b builder) raw(html string) { _, _ = b.WriteString(html) }

// clean removes passwords from a text, and characters that are not for people, and escapes it.
func clean(text string) string {
	return ascii(html.EscapeString(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, redact.Text(text))))
}

// ascii writes all other characters of HTML as references. Browsers read a page of several megabytes in half of the time if
// it is ASCII.
func ascii(html string) string {
	isOther := func(r rune) bool { return r > unicode.MaxASCII }
	if !strings.ContainsFunc(html, isOther) {
		return html
	}
	var b strings.Builder
	for _, r := range html {
		if isOther(r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
