package imageset

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// An object describes a mapping of the format that is kept as a T.
type object[T any] struct {
	fields []field[T]
	// gone are the names that earlier formats had, with what to do about them.
	gone map[string]string
	// preset gives the fields of an entry their defaults, where those are not empty.
	preset func(v *T)
	// check looks at what holds between fields. The fields themselves may have
	// been found wanting before; then they are empty.
	check func(r *reader, path string, v *T)
}

// A field describes one field of an object: how it is read, written and
// described in the JSON Schema.
type field[T any] struct {
	name     string
	required bool
	read     func(r *reader, n *yaml.Node, path string, into *T)
	write    func(from *T) []byte // JSON; nil where there is nothing to write
	shape    shape
}

// must makes a field required.
func must[T any](f field[T]) field[T] {
	f.required = true
	return f
}

func (o object[T]) names() []string {
	var names []string
	for _, f := range o.fields {
		names = append(names, f.name)
	}
	return names
}

// read fills v from the mapping n. The position goes to pos, where that is set.
func (o object[T]) read(r *reader, n *yaml.Node, path string, pos *Position, v *T) {
	start := r.position(n)
	if _, ok := r.at[path]; !ok {
		r.at[path] = start
	}
	if pos != nil {
		*pos = start
	}
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		r.fault(path, "found "+describe(n)+", wanted a mapping", o.entryHint(n))
		return
	}
	if o.preset != nil {
		o.preset(v)
	}
	given := map[string]bool{}
	for _, m := range r.members(n, path) {
		i := slices.IndexFunc(o.fields, func(f field[T]) bool { return f.name == m.key.Value })
		if i < 0 {
			r.faultAt(r.position(m.key), path, "unknown field "+quote(m.key.Value), o.unknownHint(m.key.Value))
			if near := suggest.Nearest(m.key.Value, o.names()); len(near) > 0 {
				given[near[0]] = true // misspelt, not missing
			}
			continue
		}
		f, at := o.fields[i], join(path, m.key.Value)
		r.at[at] = r.position(m.key)
		given[f.name] = true
		value := resolve(m.value)
		blank := isNull(value) || value.Kind == yaml.ScalarNode && value.Value == "" && value.ShortTag() == "!!str"
		switch {
		case blank && f.required:
			r.fault(at, "is empty", "it needs "+f.shape.wanted())
		case !blank || !isNull(value) && !f.shape.isText():
			f.read(r, m.value, at, v)
		}
	}
	for _, f := range o.fields {
		if f.required && !given[f.name] {
			r.faultAt(start, path, fmt.Sprintf("field %q is missing", f.name), "it needs "+f.shape.wanted())
		}
	}
	if o.check != nil && !r.stopped {
		o.check(r, path, v)
	}
}

// unknownHint says what an unknown field may have been meant to be.
func (o object[T]) unknownHint(name string) string {
	if hint, ok := o.gone[name]; ok {
		return hint
	}
	format := configObject().shape()
	near := suggest.Phrase(name, o.names())
	if near == "" && len(format.places("", name)) == 0 {
		if other := suggest.Nearest(name, format.names()); len(other) > 0 {
			name, near = other[0], suggest.Phrase(name, other[:1])
		}
	}
	var hints []string
	if near != "" {
		hints = append(hints, near)
	}
	if places := format.places("", name); len(places) > 0 {
		hints = append(hints, fmt.Sprintf("%q belongs to %s", name, strings.Join(places, ", ")))
	}
	if len(hints) == 0 {
		return "known here: " + strings.Join(o.names(), ", ")
	}
	return strings.Join(hints, "; ")
}

// entryHint says how to write a bare text as the mapping that it should be.
func (o object[T]) entryHint(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return ""
	}
	if os, arch, ok := strings.Cut(n.Value, "/"); ok && o.fields[0].name == "os" {
		return fmt.Sprintf("write {os: %s, architecture: %s}", bare(os), bare(arch))
	}
	for _, f := range o.fields {
		if f.required && f.shape.isText() {
			return fmt.Sprintf("write `%s: %s`", f.name, bare(n.Value))
		}
	}
	return ""
}

// encode writes v as JSON, its fields in the order of the table.
func (o object[T]) encode(v *T) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, f := range o.fields {
		value := f.write(v)
		if value == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", f.name, value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
