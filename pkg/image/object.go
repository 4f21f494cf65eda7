package image

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// An Object is a JSON object whose values keep their bytes, so that fields that Gantry does not know
// survive a rewrite. It is encoded with its own keys sorted.
type Object map[string]json.RawMessage

// DecodeObject reads an object. null is an error.
func DecodeObject(data []byte) (Object, error) {
	var o Object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fmt.Errorf("it is null, not an object")
	}
	return o, nil
}

// Field decodes the value of a key into v. It does not change v if the key is absent. Keys are
// case-sensitive.
func (o Object) Field(key string, v any) error {
	raw, ok := o[key]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("reading field %q: %w", key, err)
	}
	return nil
}

// Object decodes the value of a key that is an object. It is empty if the key is absent or null.
func (o Object) Object(key string) (Object, error) {
	inner := Object{}
	if err := o.Field(key, &inner); err != nil {
		return nil, err
	}
	if inner == nil {
		inner = Object{}
	}
	return inner, nil
}

// With returns a copy in which the key has the value v.
func (o Object) With(key string, v any) (Object, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, fmt.Errorf("writing field %q: %w", key, err)
	}
	c := make(Object, len(o)+1)
	maps.Copy(c, o)
	c[key] = raw
	return c, nil
}

// Without returns a copy without the key.
func (o Object) Without(key string) Object {
	c := make(Object, len(o))
	for k, old := range o {
		if k != key {
			c[k] = old
		}
	}
	return c
}

// encode writes v as JSON without escaping <, > and &.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
