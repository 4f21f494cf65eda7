package imageset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// list is a field that holds a list of objects. pos is where an entry keeps its
// position.
func list[T, E any](name, doc string, get func(*T) *[]E, pos func(*E) *Position, of object[E]) field[T] {
	items := of.shape()
	items.Type = []string{"object"} // an empty entry is a mistake
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			all := get(into)
			r.entries(n, path, func(item *yaml.Node, at string) {
				var e E
				of.read(r, item, at, pos(&e), &e)
				*all = append(*all, e)
			})
		},
		write: func(from *T) []byte {
			if len(*get(from)) == 0 {
				return nil
			}
			var parts [][]byte
			for i := range *get(from) {
				parts = append(parts, of.encode(&(*get(from))[i]))
			}
			return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
		},
		shape: shape{Description: doc, Type: []string{"array", "null"}, Items: &items},
	}
}

// entries hands the entries of the list n to read, each with its path.
func (r *reader) entries(n *yaml.Node, path string, read func(item *yaml.Node, at string)) {
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		r.fault(path, "found "+describe(n)+", wanted a list", "begin each entry with a dash")
		return
	}
	for i, item := range n.Content {
		if !r.step(item) {
			return
		}
		read(item, path+"["+strconv.Itoa(i)+"]")
	}
}

// words is a field that holds a list of distinct texts. entry makes what is kept
// of one, and word is its text.
func words[T, E any](name, doc string, get func(*T) *[]E, entry func(Position, string) E, word func(E) string, g grammar) field[T] {
	items := g.shape("")
	items.Type = []string{"string"}
	items.Enum = slices.DeleteFunc(items.Enum, func(v any) bool { return v == nil })
	if g.pattern != "" {
		items.Pattern = g.pattern
	}
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			all, first := get(into), map[string]Position{}
			r.entries(n, path, func(item *yaml.Node, at string) {
				pos := r.position(item)
				r.at[at] = pos
				switch item := resolve(item); {
				case item.Kind != yaml.ScalarNode:
					r.fault(at, "found "+describe(item)+", wanted a text", "write the text alone after the dash")
					return
				case item.Value == "" || isNull(item):
					r.fault(at, "is empty", "take it out")
					return
				}
				s := g.read(r, item, at)
				if before, ok := first[s]; ok {
					r.fault(at, fmt.Sprintf("%s stands on line %d already", quote(s), before.Line), "take one of the two out")
				} else if s != "" {
					first[s] = pos
					*all = append(*all, entry(pos, s))
				}
			})
		},
		write: func(from *T) []byte {
			var all []string
			for _, e := range *get(from) {
				all = append(all, word(e))
			}
			return encodeTexts(all)
		},
		shape: shape{Description: doc, Type: []string{"array", "null"}, Items: &items},
	}
}

// names is a field that holds a list of distinct texts whose positions nobody
// asks for.
func names[T any, S ~string](name, doc string, get func(*T) *[]S, g grammar) field[T] {
	return words(name, doc, get, func(_ Position, s string) S { return S(s) }, func(s S) string { return string(s) }, g)
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

// encodeTexts is a list of texts in JSON; nil where it is empty.
func encodeTexts(all []string) []byte {
	if len(all) == 0 {
		return nil
	}
	b, _ := json.Marshal(all)
	return b
}

// encodeText is s as a JSON string, which every text has.
func encodeText(s string) []byte {
	b, _ := json.Marshal(s)
	return b
}
