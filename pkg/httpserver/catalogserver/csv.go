package catalogserver

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// kindCSV is the kind of a ClusterServiceVersion.
const kindCSV = "ClusterServiceVersion"

// A csv is a ClusterServiceVersion that is made from its excerpt in a catalog (olm.csv.metadata): enough
// for OLM's package server, which shows the heads of channels, but not to install anything. Values are
// copied as they are.
type csv struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Metadata   csvMetadata `json:"metadata"`
	Spec       csvSpec     `json:"spec"`
}

type csvMetadata struct {
	Name        string          `json:"name"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Labels      json.RawMessage `json:"labels,omitempty"`
}

type csvSpec struct {
	DisplayName    json.RawMessage `json:"displayName,omitempty"`
	Description    json.RawMessage `json:"description,omitempty"`
	Version        string          `json:"version"`
	Maturity       json.RawMessage `json:"maturity,omitempty"`
	MinKubeVersion json.RawMessage `json:"minKubeVersion,omitempty"`
	Keywords       json.RawMessage `json:"keywords,omitempty"`
	Maintainers    json.RawMessage `json:"maintainers,omitempty"`
	Provider       json.RawMessage `json:"provider,omitempty"`
	Links          json.RawMessage `json:"links,omitempty"`
	Icon           []*icon         `json:"icon,omitempty"`
	InstallModes   json.RawMessage `json:"installModes,omitempty"`
	Install        csvInstall      `json:"install"`
	CRDs           json.RawMessage `json:"customresourcedefinitions,omitempty"`
	APIServices    json.RawMessage `json:"apiservicedefinitions,omitempty"`
	NativeAPIs     json.RawMessage `json:"nativeAPIs,omitempty"`
	RelatedImages  []csvImage      `json:"relatedImages,omitempty"`
}

// csvInstall names a strategy, without which OLM's package server panics.
type csvInstall struct {
	Strategy string `json:"strategy"`
}

type csvImage struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// An icon is the icon of a package, its bytes in base64.
type icon struct {
	Data      string `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// presentation returns description and icon of an olm.package object.
func presentation(raw []byte) (string, *icon, error) {
	var object struct {
		Description string `json:"description"`
		Icon        *icon  `json:"icon"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return "", nil, fmt.Errorf("reading description and icon: %w", err)
	}
	return object.Description, object.Icon, nil
}

// manifests returns the ClusterServiceVersion of a bundle and all of its objects as JSON: those of the
// catalog, or one that is made from the excerpt. Both are empty if the catalog has neither.
func manifests(e channelEntry) (csv string, objects []string, err error) {
	var excerpt []byte
	for i, p := range e.bundle.Properties {
		switch p.Type {
		case typeExcerpt:
			excerpt = p.Value
		case typeObject:
			object, kind, err := object(p.Value)
			if err != nil {
				return "", nil, fmt.Errorf("reading property %d (%s) of bundle %s: %w", i, p.Type, e.bundle.Name, err)
			}
			objects = append(objects, object)
			if csv == "" && kind == kindCSV {
				csv = object
			}
		}
	}
	if csv != "" || excerpt == nil {
		return csv, objects, nil
	}
	if csv, err = makeCSV(e, excerpt); err != nil {
		return "", nil, fmt.Errorf("reading property %s of bundle %s: %w", typeExcerpt, e.bundle.Name, err)
	}
	if len(objects) == 0 {
		objects = []string{csv}
	}
	return csv, objects, nil
}

// object returns the manifest of an olm.bundle.object property, JSON or YAML in base64, as JSON, and its
// kind.
func object(value []byte) (string, string, error) {
	var property struct {
		Data []byte `json:"data"`
	}
	if err := json.Unmarshal(value, &property); err != nil {
		return "", "", err
	}
	text, err := yaml.YAMLToJSON(property.Data)
	if err != nil {
		return "", "", err
	}
	var object struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return "", "", err
	}
	return string(text), object.Kind, nil
}

// makeCSV makes the ClusterServiceVersion of an excerpt.
func makeCSV(e channelEntry, excerpt []byte) (string, error) {
	from := struct {
		csvMetadata
		csvSpec
		APIServices json.RawMessage `json:"apiServiceDefinitions"`
		CRDs        json.RawMessage `json:"crdDescriptions"`
	}{}
	if err := json.Unmarshal(excerpt, &from); err != nil {
		return "", err
	}
	made := csv{APIVersion: "operators.coreos.com/v1alpha1", Kind: kindCSV, Metadata: from.csvMetadata, Spec: from.csvSpec}
	made.Metadata.Name, made.Spec.Version, made.Spec.Icon = e.bundle.Name, e.bundle.Version.String(), nil
	made.Spec.Install = csvInstall{Strategy: "deployment"}
	made.Spec.CRDs, made.Spec.APIServices, made.Spec.RelatedImages = from.CRDs, from.APIServices, csvImages(e.bundle.RelatedImages)
	if e.pkg.icon != nil {
		made.Spec.Icon = []*icon{e.pkg.icon}
	}
	if len(made.Spec.Description) == 0 || string(made.Spec.Description) == `""` {
		description, err := catalog.Marshal(e.pkg.description)
		if err != nil {
			return "", err
		}
		made.Spec.Description = description
	}
	text, err := catalog.Marshal(made)
	return string(text), err
}

// csvImages returns related images in the format of a ClusterServiceVersion.
func csvImages(images []catalog.RelatedImage) []csvImage {
	list := make([]csvImage, len(images))
	for i, image := range images {
		list[i] = csvImage(image)
	}
	return list
}
