package imageset

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// text is a field that holds a text.
func text[T any, S ~string](name, doc string, get func(*T) *S, g grammar) field[T] {
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			*get(into) = S(g.read(r, n, path))
		},
		write: func(from *T) []byte {
			if *get(from) == "" {
				return nil
			}
			return encodeText(string(*get(from)))
		},
		shape: g.shape(doc),
	}
}

// constant is a required text that can only be value. near says what else was
// found.
func constant[T any](name, doc, value string, near func(string) (message, hint string)) field[T] {
	g := grammar{check: func(s string) (string, string) {
		if s == value {
			return "", ""
		}
		return near(s)
	}}
	s := g.shape(doc)
	s.Enum = []any{value}
	return must(field[T]{
		name:  name,
		read:  func(r *reader, n *yaml.Node, path string, _ *T) { g.read(r, n, path) },
		write: func(*T) []byte { return encodeText(value) },
		shape: s,
	})
}

// flag is a field that is true or false. get may be nil: then nobody asks.
func flag[T any](name, doc string, get func(*T) *bool) field[T] {
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			v, ok := truth(resolve(n))
			if !ok {
				hint := ""
				if bare := resolve(n); bare.Value == "true" || bare.Value == "false" {
					hint = "write it without quotes"
				}
				r.fault(path, "found "+describe(n)+", wanted true or false", hint)
			}
			if get != nil {
				*get(into) = v
			}
		},
		write: func(from *T) []byte {
			if get == nil || !*get(from) {
				return nil
			}
			return []byte("true")
		},
		shape: shape{Description: doc, Type: []string{"boolean", "null"}},
	}
}

// truth reads a flag. The words of YAML 1.1 are what oc mirror reads too; the
// parser leaves them as texts.
func truth(n *yaml.Node) (value, ok bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" && (n.ShortTag() != "!!str" || n.Style != 0) {
		return false, false
	}
	switch strings.ToLower(n.Value) {
	case "true", "yes", "on", "y":
		return true, true
	case "false", "no", "off", "n":
		return false, true
	}
	return false, false
}

// number is a field that holds a whole number from 1 to most; 0 is unset.
func number[T any](name, doc string, most int64, get func(*T) *int64) field[T] {
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			n = resolve(n)
			var v int64
			switch {
			case n.Kind != yaml.ScalarNode || n.ShortTag() == "!!str":
				hint := "write the number alone; its unit is fixed"
				if _, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
					hint = "write it without quotes"
				}
				r.fault(path, "found "+describe(n)+", wanted a whole number", hint)
			case n.ShortTag() != "!!int" || n.Decode(&v) != nil || v < 1 || v > most:
				r.fault(path, fmt.Sprintf("found %s, wanted a whole number from 1 to %d", describe(n), most), "leave it out for the default")
			default:
				*get(into) = v
			}
		},
		write: func(from *T) []byte {
			if *get(from) == 0 {
				return nil
			}
			return strconv.AppendInt(nil, *get(from), 10)
		},
		shape: shape{Description: doc, Type: []string{"integer", "null"}, Minimum: 1, Maximum: most},
	}
}

// section is a field that holds an object.
func section[T, S any](name, doc string, get func(*T) *S, of object[S]) field[T] {
	s := of.shape()
	s.Description = doc
	return field[T]{
		name:  name,
		read:  func(r *reader, n *yaml.Node, path string, into *T) { of.read(r, n, path, nil, get(into)) },
		write: func(from *T) []byte { return written(of.encode(get(from))) },
		shape: s,
	}
}

// option is a section that keeps its position, where pos says, and is nil where
// nothing is set in it.
func option[T, S any](name, doc string, get func(*T) **S, pos func(*S) *Position, of object[S]) field[T] {
	f := section(name, doc, func(v *T) *S { return *get(v) }, of)
	f.read = func(r *reader, n *yaml.Node, path string, into *T) {
		v := new(S)
		of.read(r, n, path, pos(v), v)
		if written(of.encode(v)) != nil {
			*get(into) = v
		}
	}
	write := f.write
	f.write = func(from *T) []byte {
		if *get(from) == nil {
			return nil
		}
		return write(from)
	}
	return f
}

// written is the object b, or nil where it has no fields.
func written(b []byte) []byte {
	if string(b) == "{}" {
		return nil
	}
	return b
}

// refused is a field of the format that Gantry does not act on. It may stand
// there as long as it asks for nothing.
func refused[T any](name, doc, message, hint string) field[T] {
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, _ *T) {
			n = resolve(n)
			if n.Kind == yaml.ScalarNode {
				if v, ok := truth(n); (ok && !v) || n.Value == "" {
					return
				}
			} else if len(n.Content) == 0 {
				return
			}
			r.fault(path, message, hint)
		},
		write: func(*T) []byte { return nil },
		shape: shape{Description: doc, Enum: []any{nil, false, []any{}, map[string]any{}}},
	}
}

// encodeText is s as a JSON string, which every text has.
func encodeText(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}
