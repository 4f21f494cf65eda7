package catalog

import (
	"bytes"
	"slices"
	"strings"
)

// isNeeded reports whether dependencies may refer to properties of a type. A rule of an
// olm.constraint may refer to any type except these two, which are manifests and by far the
// largest.
func isNeeded(property string) bool {
	return property != "olm.csv.metadata" && property != "olm.bundle.object"
}

// Outline returns what [Catalog.Outlines] contains for the packages of the objects. The objects
// must be those of a readable catalog; otherwise the error is an [*Error].
func Outline(metas []*Meta) ([]*Package, error) {
	var (
		o        outliner
		outlined []decoded
		found    Error
	)
	o.reset()
	for _, m := range metas {
		bare := *m
		bare.Raw = nil
		content, ok, err := o.outline(&bare, m.Raw)
		if err != nil {
			found.add(m, "%s: %v", describe(m), err)
		} else if ok {
			outlined = append(outlined, content)
		}
	}
	if len(found.Problems) > 0 {
		return nil, &found
	}
	return group(outlined), nil
}

// An outliner decodes objects for [Catalog.Outlines] and keeps nothing of their text.
type outliner struct {
	decoder
	values map[string][]byte // of properties, each stored once
}

// reset drops the stored strings.
func (o *outliner) reset() {
	o.names, o.values = map[string]string{}, map[string][]byte{}
}

// outline decodes the object that m identifies; ok is false for schemas that outlines omit.
func (o *outliner) outline(m *Meta, text []byte) (content decoded, ok bool, err error) {
	m.Schema, m.Package, m.Name = o.shared(m.Schema), o.shared(m.Package), o.shared(m.Name)
	whole := *m
	whole.Raw = text
	switch m.Schema {
	case SchemaPackage, SchemaChannel:
		content, err = o.decode(&whole)
		if content.channel != nil {
			content.channel.Meta = m
			content.channel.Entries = slices.Clip(content.channel.Entries)
		}
	case SchemaBundle:
		content.bundle, err = o.bundle(&whole)
	default:
		return decoded{}, false, nil
	}
	content.meta = m
	if content.bundle != nil {
		content.bundle.Meta = m
	}
	return content, true, err
}

// shared returns the stored copy of a string.
func (o *outliner) shared(text string) string {
	if strings.Contains(text, `\`) {
		return text // in quotes it would be an escape
	}
	return o.text([]byte(`"` + text + `"`))
}

// bundle returns the outline of a bundle.
func (o *outliner) bundle(m *Meta) (*Bundle, error) {
	b := &Bundle{Package: m.Package, Name: m.Name}
	var all []Property
	if err := fields(&o.object, m.Raw, field{"properties", o.properties(&all)}); err != nil {
		return nil, err
	}
	b.Properties = all
	b.Version, b.Release, b.VersionErr = o.version(b)
	all = slices.DeleteFunc(all, func(p Property) bool { return !isNeeded(p.Type) })
	b.Properties = slices.Clone(all)
	for i := range b.Properties {
		b.Properties[i].Value = o.value(b.Properties[i].Value)
	}
	return b, nil
}

// value returns a copy of a property's value, shared by all bundles of the file.
func (o *outliner) value(text []byte) []byte {
	known, ok := o.values[string(text)]
	if !ok {
		known = bytes.Clone(text)
		o.values[string(text)] = known
	}
	return known
}
