// Package excerpt reads the parts of a bundle's manifests that its catalog contains.
//
// A bundle is an image with manifests: a ClusterServiceVersion and CustomResourceDefinitions.
// Catalogs repeat a part of them, so that the bundle can be shown and checked without pulling its
// image. New catalogs have a property olm.csv.metadata, which is the ClusterServiceVersion without
// its install strategy and its webhooks. Old catalogs have the manifests themselves, as JSON or
// YAML in base64, in properties olm.bundle.object.
//
// [Of] returns both in the same form, as an [Excerpt], and [Schemas] the schemas of custom
// resources, and [Images] the images that a bundle uses. The versions of a CRD and the webhooks of a bundle are known only from manifests. A
// property that cannot be parsed is an error.
//
// The formats are those of operator-registry (alpha/property).
package excerpt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// An Excerpt is what a catalog contains of a bundle's manifests.
type Excerpt struct {
	// CSV says that the catalog has the ClusterServiceVersion at least in part. Otherwise the
	// fields up to APIServices are empty.
	CSV bool
	// Complete says that the catalog has the ClusterServiceVersion itself, so that Webhooks are
	// known.
	Complete bool
	// InstallModes are the supported modes, such as AllNamespaces, sorted.
	InstallModes []string
	// MinKube is the minKubeVersion, or "".
	MinKube string
	// Webhooks are the names of the webhook definitions, in their order.
	Webhooks []string
	// APIServices are the extension API servers of the bundle, as GROUP/VERSION, in their order.
	APIServices []string
	// NativeAPIs are the APIs that the cluster must have without any operator, in their order.
	NativeAPIs []NativeAPI
	// CRDs are the CustomResourceDefinitions among the manifests, sorted by name. There are none if
	// the catalog only has olm.csv.metadata.
	CRDs []CRD
}

// A NativeAPI is an API of the cluster itself.
type NativeAPI struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// A CRD is a CustomResourceDefinition.
type CRD struct {
	Name       string // plural.group
	APIVersion string // apiextensions.k8s.io/v1 or apiextensions.k8s.io/v1beta1
	Group      string
	Kind       string
	// Versions are all versions, served or not, in their order.
	Versions []string
	// Storage is the version in which objects are stored.
	Storage string
}

// Of reads the properties of a bundle. It returns an error if one of them cannot be parsed.
func Of(b *catalog.Bundle) (Excerpt, error) {
	var x Excerpt
	var short *csvSpec
	err := each(b, func(value []byte) error {
		short = &csvSpec{}
		return json.Unmarshal(value, short)
	}, x.object)
	if err != nil {
		return Excerpt{}, err
	}
	if short != nil {
		x.take(*short) // it takes precedence over the object
	}
	elements.Sort(x.CRDs, func(a, b CRD) int { return strings.Compare(a.Name, b.Name) })
	return x, nil
}

// each calls metadata for the value of each olm.csv.metadata of a bundle, and object for the value of each
// olm.bundle.object; either may be nil.
func each(b *catalog.Bundle, metadata, object func(value []byte) error) error {
	b, err := b.Complete()
	if err != nil {
		return err
	}
	by := map[string]func([]byte) error{"olm.csv.metadata": metadata, "olm.bundle.object": object}
	for i, p := range b.Properties {
		if read := by[p.Type]; read != nil {
			if err := read(p.Value); err != nil {
				return fmt.Errorf("reading property %d (%s) of bundle %s: %w", i, p.Type, b.Name, err)
			}
		}
	}
	return nil
}

// csvSpec holds the fields of a ClusterServiceVersion's spec that are read. They have the same
// names in olm.csv.metadata, which has no webhookdefinitions.
type csvSpec struct {
	InstallModes []struct {
		Type      string `json:"type"`
		Supported bool   `json:"supported"`
	} `json:"installModes"`
	MinKubeVersion string      `json:"minKubeVersion"`
	NativeAPIs     []NativeAPI `json:"nativeAPIs"`
	Webhooks       []struct {
		GenerateName string `json:"generateName"`
	} `json:"webhookdefinitions"`
	APIServices struct {
		Owned []struct {
			Group   string `json:"group"`
			Version string `json:"version"`
		} `json:"owned"`
	} `json:"apiServiceDefinitions"`
}

func (x *Excerpt) take(spec csvSpec) {
	x.CSV = true
	x.MinKube, x.NativeAPIs = spec.MinKubeVersion, spec.NativeAPIs
	x.InstallModes, x.APIServices = nil, nil
	for _, mode := range spec.InstallModes {
		if mode.Supported {
			x.InstallModes = append(x.InstallModes, mode.Type)
		}
	}
	slices.Sort(x.InstallModes)
	x.InstallModes = slices.Compact(x.InstallModes)
	for _, api := range spec.APIServices.Owned {
		x.APIServices = append(x.APIServices, api.Group+"/"+api.Version)
	}
	for _, webhook := range spec.Webhooks {
		x.Webhooks = append(x.Webhooks, webhook.GenerateName)
	}
}

// A manifest is a Kubernetes object of a bundle.
type manifest struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Spec       json.RawMessage `json:"spec"`
	Metadata   struct {
		Name        string          `json:"name"`
		Annotations json.RawMessage `json:"annotations"`
	} `json:"metadata"`
}

// manifestOf reads an olm.bundle.object: {"data":"<base64>"}.
func manifestOf(value []byte) (manifest, error) {
	text, err := objectText(value)
	if err != nil {
		return manifest{}, err
	}
	var m manifest
	err = json.Unmarshal(text, &m)
	return m, err
}

// object reads one manifest.
func (x *Excerpt) object(value []byte) error {
	head, err := manifestOf(value)
	if err != nil {
		return err
	}
	switch head.Kind {
	case "ClusterServiceVersion":
		var spec csvSpec
		if err := json.Unmarshal(orEmpty(head.Spec), &spec); err != nil {
			return err
		}
		x.Complete = true
		x.take(spec)
	case "CustomResourceDefinition":
		crd := CRD{Name: head.Metadata.Name, APIVersion: head.APIVersion}
		if err := crd.take(orEmpty(head.Spec)); err != nil {
			return err
		}
		x.CRDs = append(x.CRDs, crd)
	}
	return nil
}

func orEmpty(text json.RawMessage) []byte {
	if len(text) == 0 {
		return []byte("{}")
	}
	return text
}

// take reads a CRD's spec, in v1 or v1beta1, in which a single version may be in spec.version.
func (c *CRD) take(text []byte) error {
	var spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Version  string `json:"version"`
		Versions []struct {
			Name    string `json:"name"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	c.Group, c.Kind = spec.Group, spec.Names.Kind
	for _, v := range spec.Versions {
		c.Versions = append(c.Versions, v.Name)
		if v.Storage {
			c.Storage = v.Name
		}
	}
	if len(spec.Versions) == 0 && spec.Version != "" {
		c.Versions, c.Storage = []string{spec.Version}, spec.Version
	}
	return nil
}
