package validate

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

// A shape is what the Go type into which opm decodes a value requires of its JSON, and no more:
// null is always valid, and members that are not listed may have any value. The shape nil allows
// any value.
type shape struct {
	kind   jsontext.Kind     // '"', '{', '[', '0', or 't' for true and false
	fields map[string]*shape // of an object: its members in lower case, since opm ignores case
	each   *shape            // of an object without fields, or of a list: its values
	base64 bool              // of a string: it is a manifest in base64
	bits   int               // of a number: it is a signed integer of this size
}

// A shaper checks values against shapes. Its zero value is ready. It is not safe for concurrent
// use.
type shaper struct {
	decoder    jsontext.Decoder
	text, data []byte // buffers for decoding base64
}

// check returns what is wrong with a JSON value.
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
	if kind == 'f' {
		kind = 't'
	}
	if kind != want.kind {
		path = cmp.Or(path, "the value")
		return fmt.Errorf("%s must be %s, not %s", strings.TrimPrefix(path, "."), kindWord(want.kind), kindWord(kind))
	}
	switch kind {
	case '{':
		return s.object(want, path)
	case '[':
		return s.list(want, path)
	}
	text, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case kind == '0' && !integer(text, want.bits):
		return fmt.Errorf("%s must be an integer of %d bits, not %s", strings.TrimPrefix(path, "."), want.bits, text)
	case !want.base64:
		return nil
	}
	if s.text, err = jsontext.AppendUnquote(s.text[:0], text); err == nil {
		s.data, err = base64.StdEncoding.AppendDecode(s.data[:0], s.text)
	}
	if err != nil {
		return fmt.Errorf("%s is not base64", strings.TrimPrefix(path, "."))
	}
	// When opm loads a catalog, it does not check further what looks like JSON.
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

// integer reports whether opm can store a JSON number in a signed integer of a size. Since opm reads
// all numbers as floating point first, 1.0 and 1e2 are integers, too.
func integer(number []byte, bits int) bool {
	value, err := strconv.ParseFloat(string(number), 64)
	limit := math.Ldexp(1, bits-1)
	return err == nil && value == math.Trunc(value) && value >= -limit && value < limit
}

// kindWord names a kind of JSON value.
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
