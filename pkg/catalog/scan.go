package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient is how JSON is read: as OLM reads it. Duplicate names are looked for
// where they matter; the names of a CSV are not ours to judge.
var lenient = []jsontext.Options{
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
}

// An identity is what every object of a catalog says of itself.
type identity struct {
	schema, pkg, name string
}

// A member is one name and value of a JSON object. The offsets are those of the
// value in the object's text.
type member struct {
	name       string
	start, end int
}

// A scanner walks JSON text without building values. It is not for several
// goroutines; its zero value is ready.
type scanner struct {
	decoder jsontext.Decoder
	members []member
	elems   []span
	names   map[string]string // of members, by their text
}

// A span is a part of a text.
type span struct{ start, end int }

// object returns the members of the JSON object that text holds, and nothing
// but it. The slice is good until the next call. The error of malformed JSON is
// a *jsontext.SyntacticError.
func (s *scanner) object(text []byte) ([]member, error) {
	d := &s.decoder
	d.Reset(bytes.NewBuffer(text), lenient...)
	if d.PeekKind() != '{' {
		if _, err := d.ReadToken(); err != nil {
			return nil, syntactic(err, d)
		}
		return nil, errNotObject
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntactic(err, d)
	}
	s.members = s.members[:0]
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return nil, syntactic(err, d)
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, syntactic(err, d)
		}
		end := int(d.InputOffset())
		s.members = append(s.members, member{name: name, start: end - len(value), end: end})
	}
	return s.members, s.finish()
}

// array returns where the elements of the JSON array stand that text holds, and
// nothing but it. The slice is good until the next call.
func (s *scanner) array(text []byte) ([]span, error) {
	d := &s.decoder
	d.Reset(bytes.NewBuffer(text), lenient...)
	if d.PeekKind() != '[' {
		return nil, errNotArray
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntactic(err, d)
	}
	s.elems = s.elems[:0]
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil, syntactic(err, d)
		}
		end := int(d.InputOffset())
		s.elems = append(s.elems, span{end - len(value), end})
	}
	return s.elems, s.finish()
}

// finish reads the closing bracket and makes sure that nothing follows.
func (s *scanner) finish() error {
	if _, err := s.decoder.ReadToken(); err != nil {
		return syntactic(err, &s.decoder)
	}
	if _, err := s.decoder.ReadToken(); err != io.EOF {
		return &jsontext.SyntacticError{ByteOffset: s.decoder.InputOffset(), Err: errors.New("text after the end of the value")}
	}
	return nil
}

// syntactic gives the end of input a place, as other errors have.
func syntactic(err error, d *jsontext.Decoder) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
		return err
	}
	return &jsontext.SyntacticError{ByteOffset: d.InputOffset(), Err: err}
}

var (
	errNotObject = errors.New("it is not an object")
	errNotArray  = errors.New("it is not a list")
)

// identity returns the schema, package and name of the object that text holds.
// Like OLM it takes any spelling of a member's name that differs only in case,
// and refuses two spellings of one; unlike OLM it also refuses the same spelling
// twice, of which OLM silently takes the last.
func (s *scanner) identity(text []byte) (identity, error) {
	members, err := s.object(text)
	if err != nil {
		return identity{}, err
	}
	var id identity
	if err := distinct(members); err != nil {
		return id, err
	}
	for _, m := range members {
		var field *string
		switch {
		case strings.EqualFold(m.name, "schema"):
			field = &id.schema
		case strings.EqualFold(m.name, "package"):
			field = &id.pkg
		case strings.EqualFold(m.name, "name"):
			field = &id.name
		default:
			continue
		}
		value, ok := asString(text[m.start:m.end])
		if !ok {
			return id, fmt.Errorf("%q must be a string, not %s; put it in quotes", m.name, abridged(text[m.start:m.end]))
		}
		*field = value
	}
	return id, nil
}

// distinct refuses two members whose names differ in case only, or not at all.
func distinct(members []member) error {
	const few = 16
	if len(members) <= few {
		for i, m := range members {
			for _, n := range members[:i] {
				if strings.EqualFold(m.name, n.name) {
					return fmt.Errorf("%q and %q name the same member; keep one", n.name, m.name)
				}
			}
		}
		return nil
	}
	names := make(map[string]string, len(members))
	for _, m := range members {
		folded := strings.ToLower(strings.ToUpper(m.name))
		if n, ok := names[folded]; ok {
			return fmt.Errorf("%q and %q name the same member; keep one", n, m.name)
		}
		names[folded] = m.name
	}
	return nil
}

// asString is the string that a JSON value is.
func asString(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	// The error is about invalid UTF-8, which has become U+FFFD as in OLM; the
	// scanner has seen to everything else.
	text, _ := jsontext.AppendUnquote(nil, value)
	return string(text), true
}

// abridged is a value as an error message shows it.
func abridged(value []byte) string {
	const most = 40
	if len(value) > most {
		return string(bytes.ToValidUTF8(value[:most], nil)) + "..."
	}
	return string(value)
}
