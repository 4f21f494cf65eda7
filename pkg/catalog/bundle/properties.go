package bundle

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// properties collects the bundle's properties: what it is, what it provides and what it requires.
// The olm.package property is taken from the properties of metadata/ or else from the annotation of
// the ClusterServiceVersion; otherwise it is made from the package and the version.
func (r *reader) properties(s metadataFiles, csv *manifest, c *clusterServiceVersion) {
	all := propertySet{reader: r}
	if s.properties != nil {
		for i, p := range s.properties.items {
			all.explicit(func() position { return s.properties.at(i) }, p)
		}
	}
	all.identified = all.own != nil
	for _, p := range r.annotated(csv, c) {
		all.explicit(func() position { return csv.at("metadata", "annotations", annotationProperties) }, p)
	}
	if all.own == nil {
		all.add(property(typePackage, packageVersion{r.bundle.Package, r.bundle.Version, r.bundle.Release}))
	}
	for _, v := range r.provided(csv, c) {
		all.add(property(typeGVK, v))
	}
	for _, v := range r.required(csv, c) {
		all.add(property(typeGVKRequired, v))
	}
	if s.dependencies != nil {
		for i, d := range s.dependencies.items {
			p, err := Requirement(d.Type, d.Value)
			if err != nil {
				r.problem(s.dependencies.at(i), "%v", err)
				continue
			}
			all.add(p, nil)
		}
	}
	r.bundle.properties = all.properties
}

// A propertySet collects the properties of the bundle.
type propertySet struct {
	reader     *reader
	properties []catalog.Property
	own        *packageVersion // the explicit olm.package, if any
	identified bool            // own is from metadata/
}

func (s *propertySet) add(p catalog.Property, err error) {
	if err != nil {
		s.reader.problem(position{}, "%v", err)
		return
	}
	s.properties = append(s.properties, p)
}

// explicit adds a property from metadata/ or the annotation.
func (s *propertySet) explicit(at func() position, p item) {
	switch p.Type {
	case typePackage:
		if s.identified {
			return
		}
		var v packageVersion
		if err := json.Unmarshal(p.Value, &v); err != nil {
			s.reader.problem(at(), "reading the property %s: %v", typePackage, unreadable(err))
			return
		}
		b := s.reader.bundle
		_, err := semver.Parse(v.Version)
		switch {
		case err != nil:
			s.reader.problem(at(), "the version %q of property %s is not a semantic version such as 1.2.3: %v", v.Version, typePackage, err)
		case v.PackageName != b.Package:
			s.reader.problem(at(), "the property %s is for package %q, but the annotations name %q", typePackage, v.PackageName, b.Package)
		case s.own != nil && *s.own != v:
			s.reader.problem(at(), "there are two different %s properties; keep one", typePackage)
		case s.own == nil:
			s.own = &v
			s.add(property(typePackage, v))
			b.Version, b.Release = v.Version, v.Release
		}
	case typeGVK:
		var v gvk
		if err := json.Unmarshal(p.Value, &v); err != nil {
			s.reader.problem(at(), "reading the property %s: %v", typeGVK, unreadable(err))
			return
		}
		s.add(property(typeGVK, v))
	case typeObject, typeExcerpt:
		s.reader.warn(at(), "the property %s is ignored: it is generated from the manifests", p.Type)
	default:
		s.add(catalog.Property{Type: p.Type, Value: p.Value}, nil)
	}
}

// annotated returns the properties in the annotation of the ClusterServiceVersion.
func (r *reader) annotated(csv *manifest, c *clusterServiceVersion) []item {
	text := c.Metadata.Annotations[annotationProperties]
	if text == "" {
		return nil
	}
	var all []item
	err := json.Unmarshal([]byte(text), &all)
	for _, p := range all {
		if err == nil && (p.Type == "" || len(p.Value) == 0) {
			err = fmt.Errorf("an element has no type or no value")
		}
	}
	if err != nil {
		// opm also renders such bundles without the properties.
		r.warn(csv.at("metadata", "annotations", annotationProperties), "the annotation %s is not a JSON list of properties and is ignored: %v", annotationProperties, unreadable(err))
		return nil
	}
	return all
}

// provided returns the APIs of the bundle's CustomResourceDefinitions, and those that the
// ClusterServiceVersion serves by an APIService. An owned definition that is not in the bundle is a
// problem.
func (r *reader) provided(csv *manifest, c *clusterServiceVersion) []gvk {
	var all []gvk
	have := map[gvk]bool{}
	add := func(v gvk) {
		if !have[v] {
			have[v] = true
			all = append(all, v)
		}
	}
	for _, m := range r.manifests {
		if m.kind != kindCRD {
			continue
		}
		var d struct {
			Spec struct {
				Group string `json:"group"`
				Names struct {
					Kind string `json:"kind"`
				} `json:"names"`
				Version  string `json:"version"` // of v1beta1
				Versions []struct {
					Name string `json:"name"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if f := m.decode(&d); f != nil {
			r.fault(f)
			continue
		}
		for _, v := range d.Spec.Versions {
			add(gvk{d.Spec.Group, d.Spec.Names.Kind, v.Name})
		}
		if d.Spec.Version != "" {
			add(gvk{d.Spec.Group, d.Spec.Names.Kind, d.Spec.Version})
		}
	}
	for i, d := range c.Spec.CRDs.Owned {
		at := func() position { return csv.at("spec", "customresourcedefinitions", "owned", fmt.Sprint(i)) }
		_, group, ok := strings.Cut(d.Name, ".")
		if !ok {
			r.problem(at(), "the name %q of an owned definition is not of the form plural.group", d.Name)
		} else if !have[gvk{group, d.Kind, d.Version}] {
			r.problem(at(), "the bundle has no %s %s with version %s and kind %s, which the %s owns", kindCRD, d.Name, d.Version, d.Kind, kindCSV)
		}
	}
	for _, a := range c.Spec.APIServices.Owned {
		add(gvk{a.Group, a.Kind, a.Version})
	}
	return all
}

// required returns the APIs that the ClusterServiceVersion requires.
func (r *reader) required(csv *manifest, c *clusterServiceVersion) []gvk {
	var all []gvk
	for i, d := range c.Spec.CRDs.Required {
		_, group, ok := strings.Cut(d.Name, ".")
		if !ok {
			r.problem(csv.at("spec", "customresourcedefinitions", "required", fmt.Sprint(i)),
				"the name %q of a required definition is not of the form plural.group", d.Name)
			continue
		}
		all = append(all, gvk{group, d.Kind, d.Version})
	}
	for _, a := range c.Spec.APIServices.Required {
		all = append(all, gvk{a.Group, a.Kind, a.Version})
	}
	return all
}
