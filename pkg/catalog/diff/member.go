package diff

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// notJSON is named in place of members where a text has none.
const notJSON = "(text)"

// jsonOptions read what the catalog's reader accepts, and keep integers exact.
func jsonOptions() []jsontext.Options {
	return []jsontext.Options{
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.CanonicalizeRawInts(false),
	}
}

// differing names the members in which two objects differ, sorted. Objects that
// are the same text are not parsed.
func differing(before, after []byte) []string {
	if bytes.Equal(before, after) {
		return nil
	}
	b, errBefore := members(before)
	a, errAfter := members(after)
	if errBefore != nil || errAfter != nil {
		return []string{notJSON}
	}
	var names []string
	for name, value := range b {
		if other, ok := a[name]; !ok || !same(value, other) {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(a) {
		if _, ok := b[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// members takes an object apart. The values are parts of the text; of members
// of the same name the last counts, as it does for encoding/json.
func members(raw []byte) (map[string]jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsonOptions()...)
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	found := map[string]jsontext.Value{}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := dec.InputOffset()
		found[name] = raw[end-int64(len(value)) : end]
	}
	_, err := dec.ReadToken()
	return found, err
}

// same reports whether two values are equal: lists as sets that may hold an
// element twice, everything else as JSON. What is cheap is tried first.
func same(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if a.Kind() != b.Kind() {
		return false
	}
	a, b = canonical(a), canonical(b)
	if bytes.Equal(a, b) {
		return true
	}
	return a.Kind() == '[' && slices.EqualFunc(elements(a), elements(b), func(x, y jsontext.Value) bool { return bytes.Equal(x, y) })
}

// canonical is a value in the one form that all its equals have: RFC 8785,
// but with integers of any size.
func canonical(v jsontext.Value) jsontext.Value {
	c := v.Clone()
	if err := c.Canonicalize(jsonOptions()...); err != nil {
		return v
	}
	return c
}

// elements are the elements of a canonical list, sorted. They are parts of its
// text.
func elements(list jsontext.Value) []jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewBuffer(list), jsonOptions()...)
	var found []jsontext.Value
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		end := dec.InputOffset()
		found = append(found, list[end-int64(len(v)):end])
	}
	slices.SortFunc(found, func(a, b jsontext.Value) int { return bytes.Compare(a, b) })
	return found
}
