package bundle

import (
	"encoding/json"
	"fmt"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A metadata is the value of olm.csv.metadata: the part of a ClusterServiceVersion that clients of
// a catalog show. The members are those that operator-registry v1.73.0 writes (alpha/property), in
// its order.
type metadata struct {
	Annotations    map[string]string `json:"annotations,omitempty"`
	APIServices    apis              `json:"apiServiceDefinitions"`
	CRDs           crds              `json:"crdDescriptions"`
	Description    string            `json:"description,omitempty"`
	DisplayName    string            `json:"displayName,omitempty"`
	InstallModes   []installMode     `json:"installModes,omitempty"`
	Keywords       []string          `json:"keywords,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Links          []link            `json:"links,omitempty"`
	Maintainers    []maintainer      `json:"maintainers,omitempty"`
	Maturity       string            `json:"maturity,omitempty"`
	MinKubeVersion string            `json:"minKubeVersion,omitempty"`
	NativeAPIs     []nativeAPI       `json:"nativeAPIs,omitempty"`
	Provider       link              `json:"provider"`
}

type apis struct {
	Owned    []api `json:"owned,omitempty"`
	Required []api `json:"required,omitempty"`
}

// An api is a described API of an APIService.
type api struct {
	Name           string `json:"name"`
	Group          string `json:"group"`
	Version        string `json:"version"`
	Kind           string `json:"kind"`
	DeploymentName string `json:"deploymentName,omitempty"`
	ContainerPort  int32  `json:"containerPort,omitempty"`
	described
}

type crds struct {
	Owned    []crd `json:"owned,omitempty"`
	Required []crd `json:"required,omitempty"`
}

// A crd is a described CustomResourceDefinition, named plural.group.
type crd struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	described
}

// described has what consoles show of an API.
type described struct {
	DisplayName       string       `json:"displayName,omitempty"`
	Description       string       `json:"description,omitempty"`
	Resources         []resource   `json:"resources,omitempty"`
	StatusDescriptors []descriptor `json:"statusDescriptors,omitempty"`
	SpecDescriptors   []descriptor `json:"specDescriptors,omitempty"`
	ActionDescriptors []descriptor `json:"actionDescriptors,omitempty"`
}

// A resource is a kind of object that the operator creates for an API.
type resource struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

// A descriptor tells a console how to show one field.
type descriptor struct {
	Path         string          `json:"path"`
	DisplayName  string          `json:"displayName,omitempty"`
	Description  string          `json:"description,omitempty"`
	XDescriptors []string        `json:"x-descriptors,omitempty"`
	Value        json.RawMessage `json:"value,omitempty"`
}

type installMode struct {
	Type      string `json:"type"`
	Supported bool   `json:"supported"`
}

type link struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

type maintainer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

type nativeAPI struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// excerpt returns the olm.csv.metadata property of a ClusterServiceVersion.
func excerpt(csv []byte) (catalog.Property, error) {
	var c clusterServiceVersion
	if err := json.Unmarshal(csv, &c); err != nil {
		return catalog.Property{}, fmt.Errorf("reading the ClusterServiceVersion: %w", unreadable(err))
	}
	return property(typeExcerpt, metadata{
		Annotations:    c.Metadata.Annotations,
		APIServices:    c.Spec.APIServices,
		CRDs:           c.Spec.CRDs,
		Description:    c.Spec.Description,
		DisplayName:    c.Spec.DisplayName,
		InstallModes:   c.Spec.InstallModes,
		Keywords:       c.Spec.Keywords,
		Labels:         c.Metadata.Labels,
		Links:          c.Spec.Links,
		Maintainers:    c.Spec.Maintainers,
		Maturity:       c.Spec.Maturity,
		MinKubeVersion: c.Spec.MinKubeVersion,
		NativeAPIs:     c.Spec.NativeAPIs,
		Provider:       c.Spec.Provider,
	})
}

// Migrate replaces the olm.bundle.object properties of an olm.bundle by one olm.csv.metadata
// property, as `opm render --migrate` does, and leaves every other member unchanged. It returns m
// if there are no such properties, if the object already has the excerpt, if it has no image that
// contains its manifests, or if it is not an olm.bundle.
func Migrate(m *catalog.Meta) (*catalog.Meta, error) {
	if m.Schema != catalog.SchemaBundle {
		return m, nil
	}
	c, err := catalog.New([]*catalog.Meta{m})
	if err != nil {
		return nil, err
	}
	b := c.Packages[0].Bundles[0]
	if b.Image == "" {
		return m, nil
	}
	type entry struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	var kept []entry
	var csv []byte
	for _, p := range b.Properties {
		switch p.Type {
		case typeExcerpt:
			return m, nil
		case typeObject:
			var o struct {
				Data []byte `json:"data"`
			}
			var k struct {
				Kind string `json:"kind"`
			}
			if err := json.Unmarshal(p.Value, &o); err != nil {
				return nil, fmt.Errorf("reading a property %s of bundle %s: %w", p.Type, m.Name, unreadable(err))
			}
			if json.Unmarshal(o.Data, &k) == nil && k.Kind == kindCSV && csv == nil {
				csv = o.Data
			}
		default:
			kept = append(kept, entry{p.Type, p.Value})
		}
	}
	if csv == nil {
		return m, nil
	}
	p, err := excerpt(csv)
	if err != nil {
		return nil, fmt.Errorf("reading bundle %s: %w", m.Name, err)
	}
	return m.With("properties", append(kept, entry{p.Type, p.Value}))
}
