package image

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// An object is a JSON object whose values stay as they were written, so that
// what this package does not know survives a rewrite. It is encoded with its
// own keys sorted.
type object map[string]json.RawMessage

func decodeObject(data []byte) (object, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fmt.Errorf("null stands where an object belongs")
	}
	return o, nil
}

// field decodes the value of a key into v, and leaves v alone where the key is
// absent. Keys are matched exactly.
func (o object) field(key string, v any) error {
	raw, ok := o[key]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("reading field %q: %w", key, err)
	}
	return nil
}

// object decodes the value of a key that holds an object; an absent one and
// null give an empty object.
func (o object) object(key string) (object, error) {
	inner := object{}
	if err := o.field(key, &inner); err != nil {
		return nil, err
	}
	if inner == nil {
		inner = object{}
	}
	return inner, nil
}

// with returns a copy in which the key has the value v.
func (o object) with(key string, v any) (object, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, fmt.Errorf("writing field %q: %w", key, err)
	}
	c := make(object, len(o)+1)
	for k, old := range o {
		c[k] = old
	}
	c[key] = raw
	return c, nil
}

// without returns a copy that lacks the key.
func (o object) without(key string) object {
	c := make(object, len(o))
	for k, old := range o {
		if k != key {
			c[k] = old
		}
	}
	return c
}

// encode writes v as JSON, with <, > and & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
