package imageset

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// text is a string field.
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

// constant is a required string field with only one valid value. near returns the message and hint
// for any other value.
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

// flag is a Boolean field.
func flag[T any](name, doc string, get func(*T) *bool) field[T] {
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			n = resolve(n)
			v, ok := truth(n)
			if bare := *n; !ok && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Style != 0 {
				bare.Style, bare.Tag = 0, ""
				if v, ok = truth(&bare); ok {
					r.warn(path, fmt.Sprintf("found %s, expected true or false; it is read as %t", describe(n), v), setPlain(n, "!!bool", strconv.FormatBool(v)))
				}
			}
			if !ok {
				r.fault(path, "found "+describe(n)+", expected true or false", "")
			}
			*get(into) = v
		},
		write: func(from *T) []byte {
			if !*get(from) {
				return nil
			}
			return []byte("true")
		},
		shape: shape{Description: doc, Type: []string{"boolean", "null"}},
	}
}

// truth reads a Boolean. Like oc mirror, it accepts the words of YAML 1.1 (yes, no, on, off), which
// the parser returns as strings.
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

// number is a field with a whole number from 1 to most; 0 means unset.
func number[T any](name, doc string, most int64, get func(*T) *int64) field[T] {
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			n = resolve(n)
			v, ok := whole(n)
			quoted := n.ShortTag() == "!!str"
			switch {
			case n.Kind != yaml.ScalarNode || quoted && !ok:
				r.fault(path, "found "+describe(n)+", expected a whole number", "write only the number; the unit is fixed")
				return
			case !ok || v < 0 || v > most:
				r.fault(path, fmt.Sprintf("found %s, expected a whole number from 1 to %d", describe(n), most), "omit the field for the default")
				return
			case v == 0:
				r.warn(path, "0 means the default", r.drop(path))
			case quoted:
				r.warn(path, fmt.Sprintf("found %s, expected a whole number; it is read as %d", describe(n), v), setPlain(n, "!!int", strconv.FormatInt(v, 10)))
			}
			*get(into) = v
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

// whole returns the whole number that a scalar is, also if it is in quotes.
func whole(n *yaml.Node) (v int64, ok bool) {
	if n.ShortTag() == "!!str" {
		v, err := strconv.ParseInt(n.Value, 10, 64)
		return v, err == nil
	}
	return v, n.ShortTag() == "!!int" && n.Decode(&v) == nil
}

// section is a field with an object.
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

// option is a section with a position, which pos returns. It is nil if no field in it is set.
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

// written returns the object b, or nil if b has no fields.
func written(b []byte) []byte {
	if string(b) == "{}" {
		return nil
	}
	return b
}

// ignored is a field that is read without effect. why is the reason, such as "state is kept in the
// workspace".
func ignored[T any](name, why string) field[T] {
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, _ *T) {
			if n = resolve(n); n.Kind == yaml.ScalarNode || len(n.Content) > 0 {
				r.warn(path, "has no effect: "+why, r.drop(path))
			}
		},
		write: func(*T) []byte { return nil },
	}
}

// encodeText returns s as a JSON string. Marshaling a string returns no error.
func encodeText(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}
