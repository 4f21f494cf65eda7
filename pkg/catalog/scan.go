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

// lenient are the options to read JSON like OLM. Duplicate names are checked where they matter;
// those in a CSV are not Gantry's concern.
var lenient = []jsontext.Options{
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
}

// An identity is what identifies an object of a catalog.
type identity struct {
	schema, pkg, name string
}

// A member is a name and value of a JSON object. The offsets are those of the value in the object's
// text.
type member struct {
	name       string
	start, end int
}

// A scanner walks JSON text without building values. It must not be used by several goroutines; its
// zero value is ready.
type scanner struct {
	decoder jsontext.Decoder
	members []member
	elems   []span
	names   map[string]string // of members, by their text
}

// A span is a part of a text.
type span struct{ start, end int }

// object returns the members of the JSON object that is the whole text. The slice is valid until
// the next call. The error for malformed JSON is a *jsontext.SyntacticError.
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

// array returns the elements of the JSON array that is the whole text. The slice is valid until the
// next call.
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

// finish reads the closing bracket and checks that nothing follows.
func (s *scanner) finish() error {
	if _, err := s.decoder.ReadToken(); err != nil {
		return syntactic(err, &s.decoder)
	}
	if _, err := s.decoder.ReadToken(); err != io.EOF {
		return &jsontext.SyntacticError{ByteOffset: s.decoder.InputOffset(), Err: errors.New("text after the end of the value")}
	}
	return nil
}

// syntactic adds the offset to an unexpected end of input, as other errors have it.
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
	errNotObject = errors.New("not an object")
	errNotArray  = errors.New("not a list")
)

// identity returns the schema, package and name of the object in text. Like OLM it matches names in
// any case and rejects two spellings of the same name. Unlike OLM, which uses the last one, it also
// rejects the same spelling twice.
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

// distinct returns an error if two members have the same name, ignoring case.
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

// asString returns the string of a JSON value.
func asString(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	// The only possible error is invalid UTF-8, which becomes U+FFFD as in OLM; the scanner has
	// checked everything else.
	text, _ := jsontext.AppendUnquote(nil, value)
	return string(text), true
}

// abridged returns a value, shortened for an error message.
func abridged(value []byte) string {
	const most = 40
	if len(value) > most {
		return string(bytes.ToValidUTF8(value[:most], nil)) + "..."
	}
	return string(value)
}
