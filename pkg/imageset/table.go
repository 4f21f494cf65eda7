package imageset

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// An object describes a mapping of the format that is decoded into a T.
type object[T any] struct {
	fields []field[T]
	// renamed are the fields of earlier formats that have another name now.
	renamed map[string]string
	// former are the fields of earlier formats that are read as others, or have no effect. They are
	// not part of the JSON Schema.
	former []field[T]
	// removed are the names of fields that are errors, with a hint for each.
	removed map[string]string
	// preset sets the defaults of fields whose default is not empty.
	preset func(v *T)
	// check checks rules between fields. Invalid fields have been reported already and are empty.
	check func(r *reader, path string, v *T)
}

// A field describes one field of an object: how it is read and written, and its JSON Schema.
type field[T any] struct {
	name     string
	required bool
	// absent reports a required field that is missing or empty; nil for an error.
	absent func(r *reader, path string, into *T)
	read   func(r *reader, n *yaml.Node, path string, into *T)
	write  func(from *T) []byte // JSON; nil if there is nothing to write
	shape  shape
}

// must makes a field required.
func must[T any](f field[T]) field[T] {
	f.required = true
	return f
}

func (o object[T]) names() []string {
	return elements.Map(o.fields, func(f field[T]) string { return f.name })
}

// read fills v from the mapping n and stores its position in pos, if pos is not nil.
func (o object[T]) read(r *reader, n *yaml.Node, path string, pos *Position, v *T) {
	start := r.position(n)
	at, ok := r.at[path]
	if !ok {
		at.Position = start
	}
	at.value = n
	r.at[path] = at
	if pos != nil {
		*pos = start
		if r.value && path != "" {
			pos.File = strings.TrimPrefix(r.file+": "+path, ": ")
		}
	}
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		r.fault(path, "found "+describe(n)+", expected a mapping", o.entryHint(n))
		return
	}
	if o.preset != nil {
		o.preset(v)
	}
	given, misspelled := map[string]bool{}, map[string]bool{}
	for _, m := range r.members(n, path) {
		f, ok := o.find(m.key.Value)
		if !ok {
			r.faultAt(r.position(m.key), path, "unknown field "+quote(m.key.Value), o.unknownHint(r.format(), m.key.Value))
			if near := suggest.Nearest(m.key.Value, o.names()); len(near) > 0 {
				misspelled[near[0]] = true
			}
			continue
		}
		o.member(r, n, path, m, f, given, v)
	}
	for _, f := range o.fields {
		switch {
		case !f.required || given[f.name] || misspelled[f.name]:
		case f.absent != nil:
			f.absent(r, path, v)
		default:
			r.faultAt(start, path, fmt.Sprintf("field %q is missing", f.name), "it needs "+f.shape.wanted())
		}
	}
	if o.check != nil && !r.stopped {
		o.check(r, path, v)
	}
}

// find returns the field of a name: as it is written, under an earlier name, or in another case, as
// oc mirror reads it.
func (o object[T]) find(name string) (field[T], bool) {
	same := func(f field[T]) bool { return f.name == name }
	i := slices.IndexFunc(o.fields, same)
	if i < 0 {
		for old, now := range o.renamed {
			if strings.EqualFold(old, name) {
				name = now
			}
		}
		same = func(f field[T]) bool { return strings.EqualFold(f.name, name) }
		i = slices.IndexFunc(o.fields, same)
	}
	if i >= 0 {
		return o.fields[i], true
	}
	if i := slices.IndexFunc(o.former, same); i >= 0 {
		return o.former[i], true
	}
	return field[T]{}, false
}

// member reads one field of a mapping.
func (o object[T]) member(r *reader, n *yaml.Node, path string, m member, f field[T], given map[string]bool, v *T) {
	at := join(path, f.name)
	if given[f.name] {
		r.faultAt(r.position(m.key), path, fmt.Sprintf("field %s is %q, which is already on line %d", quote(m.key.Value), f.name, r.at[at].Line), "remove one of the two")
		return
	}
	given[f.name] = true
	r.at[at] = place{r.position(m.key), n, m.key, m.value}
	switch {
	case f.name == m.key.Value:
	case strings.EqualFold(f.name, m.key.Value):
		r.warn(at, fmt.Sprintf("field %s is read as %q: names are case-sensitive", quote(m.key.Value), f.name), rename(m.key, f.name))
	default:
		r.warn(at, fmt.Sprintf("field %s of an earlier format is read as %q", quote(m.key.Value), f.name), rename(m.key, f.name))
	}
	value := resolve(m.value)
	blank := isNull(value) || value.Kind == yaml.ScalarNode && value.Value == "" && value.ShortTag() == "!!str"
	switch {
	case blank && f.required && f.absent != nil:
		f.absent(r, path, v)
	case blank && f.required:
		r.fault(at, "is empty", "it needs "+f.shape.wanted())
	case !blank || !isNull(value) && !f.shape.isText():
		f.read(r, m.value, at, v)
	}
}

// unknownHint suggests what an unknown field was probably meant to be, and where it belongs in the format.
func (o object[T]) unknownHint(format shape, name string) string {
	if hint, ok := o.removed[name]; ok {
		return hint
	}
	near := suggest.Phrase(name, o.names())
	if near == "" && len(format.parents("", name)) == 0 {
		if other := suggest.Nearest(name, format.names()); len(other) > 0 {
			name, near = other[0], suggest.Phrase(name, other[:1])
		}
	}
	var hints []string
	if near != "" {
		hints = append(hints, near)
	}
	if parents := format.parents("", name); len(parents) > 0 {
		hints = append(hints, fmt.Sprintf("%q belongs to %s", name, strings.Join(parents, ", ")))
	}
	if len(hints) == 0 {
		return "supported fields: " + strings.Join(o.names(), ", ")
	}
	return strings.Join(hints, "; ")
}

// entryHint suggests how to write a plain string as the mapping that is expected.
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

// encode writes v as JSON, with the fields in the order of the table.
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
