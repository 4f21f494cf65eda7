package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Encode writes the olm.bundle object of a bundle, from its package, name, image,
// properties and related images. Properties are sorted by type and value, those
// that carry manifests last, and each stands once; related images are sorted by
// image. The same bundle gives the same bytes. A property whose value is not JSON
// is an error.
func Encode(b *catalog.Bundle) (*catalog.Meta, error) {
	type property struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	type image struct {
		Name  string `json:"name"`
		Image string `json:"image"`
	}
	o := struct {
		Schema        string     `json:"schema"`
		Name          string     `json:"name"`
		Package       string     `json:"package"`
		Image         string     `json:"image"`
		Properties    []property `json:"properties"`
		RelatedImages []image    `json:"relatedImages,omitempty"`
	}{Schema: catalog.SchemaBundle, Name: b.Name, Package: b.Package, Image: b.Image}

	for _, p := range b.Properties {
		value, err := clean(p.Value)
		if err != nil {
			return nil, fmt.Errorf("writing property %s of bundle %s: %w", p.Type, b.Name, err)
		}
		o.Properties = append(o.Properties, property{p.Type, value})
	}
	compare := func(a, b property) int {
		return cmp.Or(
			cmp.Compare(rank(a.Type), rank(b.Type)),
			cmp.Compare(a.Type, b.Type),
			bytes.Compare(a.Value, b.Value),
		)
	}
	slices.SortFunc(o.Properties, compare)
	o.Properties = slices.CompactFunc(o.Properties, func(a, b property) bool { return compare(a, b) == 0 })

	for _, r := range b.RelatedImages {
		o.RelatedImages = append(o.RelatedImages, image(r))
	}
	slices.SortStableFunc(o.RelatedImages, func(a, b image) int {
		return cmp.Or(cmp.Compare(a.Image, b.Image), cmp.Compare(a.Name, b.Name))
	})

	raw, err := marshal(o)
	if err != nil {
		return nil, fmt.Errorf("writing bundle %s: %w", b.Name, err)
	}
	return &catalog.Meta{Schema: o.Schema, Package: o.Package, Name: o.Name, Raw: raw}, nil
}

// rank puts the properties that carry manifests behind all others.
func rank(propertyType string) int {
	if propertyType == typeObject || propertyType == typeExcerpt {
		return 1
	}
	return 0
}

// clean is a JSON value without blanks and without escapes that it does not need.
func clean(value []byte) ([]byte, error) {
	out, err := jsontext.AppendFormat(nil, value)
	if err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	return out, nil
}

// marshal writes JSON without escaping for HTML.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
