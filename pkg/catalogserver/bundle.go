package catalogserver

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// The types of property that a bundle's message is made of.
const (
	typePackage         = "olm.package"
	typePackageRequired = "olm.package.required"
	typeGVK             = "olm.gvk"
	typeGVKRequired     = "olm.gvk.required"
	typeObject          = "olm.bundle.object"
	typeExcerpt         = "olm.csv.metadata"
)

// A gvk is an API.
type gvk struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func compareAPIs(a, b gvk) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
}

// bundleGVKs are the APIs of a bundle's properties of one type.
func bundleGVKs(b *catalog.Bundle, typ string) ([]gvk, error) {
	var list []gvk
	for _, p := range b.Properties {
		if p.Type != typ {
			continue
		}
		var api gvk
		if err := json.Unmarshal(p.Value, &api); err != nil {
			return nil, fmt.Errorf("reading property %s of bundle %s: %w", p.Type, b.Name, err)
		}
		list = append(list, api)
	}
	return list, nil
}

// How much of a bundle a message holds.
type extent struct {
	// edges says whether replaces and skips are in it; `opm serve` has them in
	// lists only.
	edges bool
	// manifests says whether the ClusterServiceVersion and the other objects
	// are. They are large; in lists OLM wants them only of bundles that have no
	// image to pull them from.
	manifests bool
}

// bundleMessage encodes an api.Bundle.
func bundleMessage(at place, has extent) (message, error) {
	b := at.bundle
	var m message
	m.text(1, b.Name)
	m.text(2, at.pkg.Name)
	m.text(3, at.channel.Name)
	if has.manifests {
		csv, objects, err := manifests(at)
		if err != nil {
			return nil, err
		}
		m.text(4, csv)
		for _, object := range objects {
			m.element(5, object)
		}
	}
	m.text(6, b.Image)
	for _, apis := range []struct {
		field protowire.Number
		typ   string
	}{{7, typeGVK}, {8, typeGVKRequired}} {
		list, err := bundleGVKs(b, apis.typ)
		if err != nil {
			return nil, err
		}
		for _, api := range list {
			m.part(apis.field, encode(api.Group, api.Version, api.Kind))
		}
	}
	m.text(9, b.Version.String())
	m.text(10, at.entry.SkipRange)
	for _, p := range b.Properties {
		dependency, err := dependencyMessage(p)
		if err != nil {
			return nil, fmt.Errorf("reading property %s of bundle %s: %w", p.Type, b.Name, err)
		}
		if dependency != nil {
			m.part(11, dependency)
		}
	}
	for _, p := range b.Properties {
		// OLM writes properties into annotations, which have not room for these.
		if p.Type == typeObject || p.Type == typeExcerpt {
			continue
		}
		value, err := compact(p.Value)
		if err != nil {
			return nil, fmt.Errorf("reading property %s of bundle %s: %w", p.Type, b.Name, err)
		}
		m.part(12, encode(p.Type, value))
	}
	if has.edges {
		m.text(13, at.entry.Replaces)
		for _, name := range at.entry.Skips {
			m.element(14, name)
		}
	}
	if text, ok := at.pkg.deprecations[deprecated{catalog.SchemaBundle, b.Name}]; ok {
		m.part(15, encode(text))
	}
	return m, nil
}

// dependencyMessage encodes an api.Dependency: the older form of the properties
// that require an API or a package. It is nil for other properties.
func dependencyMessage(p catalog.Property) (message, error) {
	switch p.Type {
	case typeGVKRequired:
		value, err := compact(p.Value)
		if err != nil {
			return nil, err
		}
		return encode(typeGVK, value), nil
	case typePackageRequired:
		var required struct {
			PackageName  string `json:"packageName"`
			VersionRange string `json:"versionRange"`
		}
		if err := json.Unmarshal(p.Value, &required); err != nil {
			return nil, err
		}
		value, err := marshal(struct {
			PackageName string `json:"packageName"`
			Version     string `json:"version"`
		}{required.PackageName, required.VersionRange})
		if err != nil {
			return nil, err
		}
		return encode(typePackage, value), nil
	default:
		return nil, nil
	}
}

// compact is JSON without white space, with members sorted as opm sorts them, in
// UTF-8, as messages of proto3 demand.
func compact(value []byte) (string, error) {
	text, err := jsontext.AppendFormat(nil, value, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.ReorderRawObjects(true))
	return string(text), err
}
