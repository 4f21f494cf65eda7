package validate

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

// A shape is what the Go type that opm decodes a value into demands of its JSON,
// no more: null passes everywhere, and members that are not named may be
// anything. The shape nil is that of any value.
type shape struct {
	kind   jsontext.Kind     // '"', '{' or '['
	fields map[string]*shape // of an object: its members, in lower case, since opm takes any
	each   *shape            // of an object without fields, or a list: what it holds
	base64 bool              // of a string: that it holds a manifest in base64
}

// A shaper holds values against shapes. Its zero value is ready; it is not for
// several goroutines.
type shaper struct {
	decoder    jsontext.Decoder
	text, data []byte // room for decoding base64
}

// check says what is wrong with a JSON value, for a person.
func (s *shaper) check(value []byte, want *shape) error {
	s.decoder.Reset(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return s.value(want, "")
}

func (s *shaper) value(want *shape, path string) error {
	d := &s.decoder
	kind := d.PeekKind()
	if want == nil || kind == 'n' {
		return d.SkipValue()
	}
	if kind != want.kind {
		if path == "" {
			path = "the value"
		}
		return fmt.Errorf("%s must be %s, not %s", strings.TrimPrefix(path, "."), kindWord(want.kind), kindWord(kind))
	}
	switch kind {
	case '{':
		return s.object(want, path)
	case '[':
		return s.list(want, path)
	}
	text, err := d.ReadValue()
	if err != nil || !want.base64 {
		return err
	}
	if s.text, err = jsontext.AppendUnquote(s.text[:0], text); err == nil {
		s.data, err = base64.StdEncoding.AppendDecode(s.data[:0], s.text)
	}
	if err != nil {
		return fmt.Errorf("%s is not base64", strings.TrimPrefix(path, "."))
	}
	// Of what looks like JSON opm asks no more when it loads a catalog.
	if bytes.HasPrefix(bytes.TrimSpace(s.data), []byte("{")) {
		return nil
	}
	if _, err := yaml.YAMLToJSON(s.data); err != nil {
		return fmt.Errorf("the manifest in %s is not YAML: %w", strings.TrimPrefix(path, "."), err)
	}
	return nil
}

func (s *shaper) object(want *shape, path string) error {
	d := &s.decoder
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		inner := want.each
		if want.fields != nil {
			inner = want.fields[strings.ToLower(name)]
		}
		if err := s.value(inner, path+"."+name); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (s *shaper) list(want *shape, path string) error {
	d := &s.decoder
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		if err := s.value(want.each, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// kindWord is a kind of JSON value in words.
func kindWord(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '0':
		return "a number"
	}
	return "true or false"
}
