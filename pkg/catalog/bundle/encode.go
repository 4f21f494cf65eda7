package bundle

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Encode writes the olm.bundle object of a bundle, from its package, name, image, properties and
// related images. Properties are sorted by type and value, those with manifests last, without
// duplicates; related images are sorted by image. The same bundle gives the same bytes. A property
// whose value is not JSON, or a name that is not UTF-8, is an error.
func Encode(b *catalog.Bundle) (*catalog.Meta, error) {
	properties, err := sorted(b.Properties)
	if err != nil {
		return nil, err
	}
	images := slices.Clone(b.RelatedImages)
	elements.Sort(images, func(a, b catalog.RelatedImage) int {
		return cmp.Or(cmp.Compare(a.Image, b.Image), cmp.Compare(a.Name, b.Name))
	})

	size := 1 << 10
	for _, p := range properties {
		size += len(p.Type) + len(p.Value) + 32
	}
	w := writer{raw: make([]byte, 0, size)}
	w.text(`{"schema":`, catalog.SchemaBundle)
	w.text(`,"name":`, b.Name)
	w.text(`,"package":`, b.Package)
	w.text(`,"image":`, b.Image)
	between := `,"properties":[`
	for _, p := range properties {
		w.text(between+`{"type":`, p.Type)
		w.raw = append(append(append(w.raw, `,"value":`...), p.Value...), '}')
		between = ","
	}
	if len(properties) > 0 {
		w.raw = append(w.raw, ']')
	}
	between = `,"relatedImages":[`
	for _, i := range images {
		w.text(between+`{"name":`, i.Name)
		w.text(`,"image":`, i.Image)
		w.raw = append(w.raw, '}')
		between = ","
	}
	if len(images) > 0 {
		w.raw = append(w.raw, ']')
	}
	if w.err != nil {
		return nil, fmt.Errorf("writing the object: %w", w.err)
	}
	return &catalog.Meta{Schema: catalog.SchemaBundle, Package: b.Package, Name: b.Name, Raw: append(w.raw, '}')}, nil
}

// A writer appends JSON. Bundles have megabytes of it, so it is written in one pass.
type writer struct {
	raw []byte
	err error // the first
}

// text appends before, then the value as a string.
func (w *writer) text(before, value string) {
	raw, err := jsontext.AppendQuote(append(w.raw, before...), value)
	w.raw = raw
	w.err = cmp.Or(w.err, err)
}

// sorted returns the properties in order, without duplicates, with clean values.
func sorted(all []catalog.Property) ([]catalog.Property, error) {
	properties := make([]catalog.Property, len(all))
	for i, p := range all {
		value, err := clean(p.Value)
		if err != nil {
			return nil, fmt.Errorf("reading property %s: %w", p.Type, err)
		}
		properties[i] = catalog.Property{Type: p.Type, Value: value}
	}
	compare := func(a, b catalog.Property) int {
		return cmp.Or(
			cmp.Compare(rank(a.Type), rank(b.Type)),
			cmp.Compare(a.Type, b.Type),
			bytes.Compare(a.Value, b.Value),
		)
	}
	elements.Sort(properties, compare)
	return slices.CompactFunc(properties, func(a, b catalog.Property) bool { return compare(a, b) == 0 }), nil
}

// rank puts the properties with manifests after all others.
func rank(propertyType string) int {
	if propertyType == typeObject || propertyType == typeExcerpt {
		return 1
	}
	return 0
}

// clean returns a JSON value without white space and unnecessary escapes.
func clean(value []byte) ([]byte, error) {
	return jsontext.AppendFormat(make([]byte, 0, len(value)), value)
}
