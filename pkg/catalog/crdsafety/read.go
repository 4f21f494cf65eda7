package crdsafety

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// A CRD is a CustomResourceDefinition.
type CRD struct {
	Name  string // plural.group
	Group string
	Kind  string
	Scope string // Cluster or Namespaced
	// Webhook says that a webhook converts objects between versions.
	Webhook bool
	// Versions are all versions, in their order.
	Versions []Version
	// StoredVersions are status.storedVersions. Manifests have none.
	StoredVersions []string
}

// A Version is one version of a CustomResourceDefinition.
type Version struct {
	Name    string
	Served  bool
	Storage bool
	// fields are the schemas of the object and of all fields by path.
	fields map[string]node
}

// ErrOtherKind is the error of Read for an object that is not a CustomResourceDefinition.
var ErrOtherKind = errors.New("the object is not a CustomResourceDefinition")

// crdKind is the kind of the objects that are read.
const crdKind = "CustomResourceDefinition"

// maxText limits a manifest. The API server accepts about 3 MiB.
const maxText = 8 << 20

// Read reads a CustomResourceDefinition of apiextensions.k8s.io v1 or v1beta1, as JSON or YAML. In
// v1beta1 all versions may share one schema.
func Read(text []byte) (*CRD, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("reading a CustomResourceDefinition: it has more than %d MiB", maxText>>20)
	}
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("{")) {
		var err error
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
		}
	}
	type schema struct {
		Root node `json:"openAPIV3Schema"`
	}
	var o struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Scope      string `json:"scope"`
			Conversion struct {
				Strategy string `json:"strategy"`
			} `json:"conversion"`
			Version    string `json:"version"`
			Validation schema `json:"validation"`
			Versions   []struct {
				Name    string `json:"name"`
				Served  bool   `json:"served"`
				Storage bool   `json:"storage"`
				Schema  schema `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
		Status struct {
			StoredVersions []string `json:"storedVersions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
	}
	if o.Kind != crdKind {
		return nil, ErrOtherKind
	}
	c := &CRD{
		Name: o.Metadata.Name, Group: o.Spec.Group, Kind: o.Spec.Names.Kind,
		Scope:   cmp.Or(o.Spec.Scope, "Namespaced"), // the default of v1beta1; v1 requires it
		Webhook: o.Spec.Conversion.Strategy == "Webhook", StoredVersions: o.Status.StoredVersions,
	}
	for _, v := range o.Spec.Versions {
		c.Versions = append(c.Versions, Version{Name: v.Name, Served: v.Served, Storage: v.Storage})
	}
	if len(c.Versions) == 0 && o.Spec.Version != "" {
		c.Versions = []Version{{Name: o.Spec.Version, Served: true, Storage: true}}
	}
	for i := range c.Versions {
		root := o.Spec.Validation.Root
		if i < len(o.Spec.Versions) && o.Spec.Versions[i].Schema.Root != nil {
			root = o.Spec.Versions[i].Schema.Root
		}
		c.Versions[i].fields = map[string]node{}
		if root == nil {
			continue
		}
		if err := root.flatten("", 0, c.Versions[i].fields); err != nil {
			return nil, fmt.Errorf("reading the CustomResourceDefinition %s: %w", c.Name, err)
		}
	}
	return c, nil
}

// version returns the version of a name, or nil.
func (c *CRD) version(name string) *Version {
	for i := range c.Versions {
		if c.Versions[i].Name == name {
			return &c.Versions[i]
		}
	}
	return nil
}
