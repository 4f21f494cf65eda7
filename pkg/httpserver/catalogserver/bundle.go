package catalogserver

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver/api"
)

// The property types that end up in a bundle's message.
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

// bundleGVKs returns the APIs of a bundle's properties of one type.
func bundleGVKs(b *catalog.Bundle, typ string) ([]gvk, error) {
	var list []gvk
	for _, p := range b.Properties {
		if p.Type != typ {
			continue
		}
		var a gvk
		if err := json.Unmarshal(p.Value, &a); err != nil {
			return nil, fmt.Errorf("reading property %s of bundle %s: %w", p.Type, b.Name, err)
		}
		list = append(list, a)
	}
	return list, nil
}

// An extent is how much of a bundle a message contains.
type extent struct {
	// edges adds replaces and skips; `opm serve` has them in lists only.
	edges bool
	// manifests adds the ClusterServiceVersion and the other objects. They are large; in lists, OLM
	// expects them only for bundles without an image to pull them from.
	manifests bool
}

// bundleMessage returns the message of a bundle in a channel.
func bundleMessage(e channelEntry, has extent) (*api.Bundle, error) {
	b := e.bundle
	m := &api.Bundle{
		CsvName: b.Name, PackageName: e.pkg.Name, ChannelName: e.channel.Name, BundlePath: b.Image,
		Version: b.Version.String(), SkipRange: e.entry.SkipRange,
		Deprecation: e.pkg.deprecation(catalog.SchemaBundle, b.Name),
	}
	if has.edges {
		m.Replaces, m.Skips = e.entry.Replaces, e.entry.Skips
	}
	var err error
	if has.manifests {
		if m.CsvJson, m.Object, err = manifests(e); err != nil {
			return nil, err
		}
	}
	if m.ProvidedApis, err = apiMessages(b, typeGVK); err != nil {
		return nil, err
	}
	if m.RequiredApis, err = apiMessages(b, typeGVKRequired); err != nil {
		return nil, err
	}
	for _, p := range b.Properties {
		dependency, err := dependencyMessage(p)
		if err != nil {
			return nil, fmt.Errorf("reading property %s of bundle %s: %w", p.Type, b.Name, err)
		}
		if dependency != nil {
			m.Dependencies = append(m.Dependencies, dependency)
		}
		// OLM writes properties into annotations, which are too small for these.
		if p.Type == typeObject || p.Type == typeExcerpt {
			continue
		}
		value, err := compact(p.Value)
		if err != nil {
			return nil, fmt.Errorf("reading property %s of bundle %s: %w", p.Type, b.Name, err)
		}
		m.Properties = append(m.Properties, &api.Property{Type: p.Type, Value: value})
	}
	return m, nil
}

// apiMessages returns the APIs of a bundle's properties of one type.
func apiMessages(b *catalog.Bundle, typ string) ([]*api.GroupVersionKind, error) {
	list, err := bundleGVKs(b, typ)
	if err != nil {
		return nil, err
	}
	var all []*api.GroupVersionKind
	for _, a := range list {
		all = append(all, &api.GroupVersionKind{Group: a.Group, Version: a.Version, Kind: a.Kind})
	}
	return all, nil
}

// dependencyMessage returns the dependency for a property that requires an API or a package, its older
// form. It is nil for other properties.
func dependencyMessage(p catalog.Property) (*api.Dependency, error) {
	switch p.Type {
	case typeGVKRequired:
		value, err := compact(p.Value)
		if err != nil {
			return nil, err
		}
		return &api.Dependency{Type: typeGVK, Value: value}, nil
	case typePackageRequired:
		var required struct {
			PackageName  string `json:"packageName"`
			VersionRange string `json:"versionRange"`
		}
		if err := json.Unmarshal(p.Value, &required); err != nil {
			return nil, err
		}
		value, err := catalog.Marshal(struct {
			PackageName string `json:"packageName"`
			Version     string `json:"version"`
		}{required.PackageName, required.VersionRange})
		if err != nil {
			return nil, err
		}
		return &api.Dependency{Type: typePackage, Value: string(value)}, nil
	default:
		return nil, nil
	}
}

// compact returns JSON without white space, with members sorted as opm sorts them, in UTF-8, which
// proto3 requires.
func compact(value []byte) (string, error) {
	text, err := jsontext.AppendFormat(nil, value, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.ReorderRawObjects(true))
	return string(text), err
}
