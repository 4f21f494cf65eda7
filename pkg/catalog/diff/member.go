package diff

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// notJSON is reported instead of members if a text cannot be parsed.
const notJSON = "(text)"

// jsonOptions accept what the catalog's reader accepts, and keep integers exact.
func jsonOptions() []jsontext.Options {
	return []jsontext.Options{
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.CanonicalizeRawInts(false),
	}
}

// differing returns the names of the members in which two objects differ, sorted. Identical texts
// are not parsed.
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

// members splits an object into its members. The values are parts of the text. As in encoding/json,
// the last of several members of the same name counts.
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

// same reports whether two values are equal: lists as multisets, everything else as JSON. It tries
// cheap comparisons first.
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
	return a.Kind() == '[' && slices.EqualFunc(sortedElements(a), sortedElements(b), func(x, y jsontext.Value) bool { return bytes.Equal(x, y) })
}

// canonical returns the canonical form of a value: RFC 8785, but with integers of any size.
func canonical(v jsontext.Value) jsontext.Value {
	c := v.Clone()
	if err := c.Canonicalize(jsonOptions()...); err != nil {
		return v
	}
	return c
}

// sortedElements returns the elements of a canonical list, sorted. They are parts of its text.
func sortedElements(list jsontext.Value) []jsontext.Value {
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
	elements.Sort(found, func(a, b jsontext.Value) int { return bytes.Compare(a, b) })
	return found
}
