package bundle

import (
	"encoding/base64"
	"strings"

	"github.com/blang/semver/v4"
)

// Kinds of manifests that mean something here.
const (
	kindCSV = "ClusterServiceVersion"
	kindCRD = "CustomResourceDefinition"
)

// Annotations of a ClusterServiceVersion.
const (
	annotationSkipRange  = "olm.skipRange"
	annotationProperties = "olm.properties"
)

// A clusterServiceVersion is what a catalog takes from one
// (operators.coreos.com/v1alpha1).
type clusterServiceVersion struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
		Labels      map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Version        string        `json:"version"`
		Release        string        `json:"release"`
		Replaces       string        `json:"replaces"`
		Skips          []string      `json:"skips"`
		Description    string        `json:"description"`
		DisplayName    string        `json:"displayName"`
		InstallModes   []installMode `json:"installModes"`
		Keywords       []string      `json:"keywords"`
		Links          []link        `json:"links"`
		Maintainers    []maintainer  `json:"maintainers"`
		Maturity       string        `json:"maturity"`
		MinKubeVersion string        `json:"minKubeVersion"`
		NativeAPIs     []nativeAPI   `json:"nativeAPIs"`
		Provider       link          `json:"provider"`
		Icon           []struct {
			Data      string `json:"base64data"`
			MediaType string `json:"mediatype"`
		} `json:"icon"`
		APIServices   apis    `json:"apiservicedefinitions"`
		CRDs          crds    `json:"customresourcedefinitions"`
		RelatedImages []image `json:"relatedImages"`
		Install       struct {
			Spec struct {
				Deployments []deployment `json:"deployments"`
			} `json:"spec"`
		} `json:"install"`
	} `json:"spec"`
}

type image struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

type deployment struct {
	Spec struct {
		Template struct {
			Spec struct {
				InitContainers []image `json:"initContainers"`
				Containers     []image `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// describe takes from the ClusterServiceVersion what it says of the bundle.
func (r *reader) describe(m *manifest, c *clusterServiceVersion) {
	b := r.bundle
	b.csv = m.json
	b.Name = c.Metadata.Name
	if b.Name == "" {
		r.problem(m.at("metadata"), "the %s has no name", kindCSV)
	}
	b.Version, b.Release = c.Spec.Version, c.Spec.Release
	if b.Version == "" {
		r.problem(m.at("spec"), "the %s has no spec.version", kindCSV)
	} else if _, err := semver.Parse(b.Version); err != nil {
		r.problem(m.at("spec", "version"), "the version %q is not a semantic version such as 1.2.3: %v", b.Version, err)
	}
	b.Replaces, b.Skips = c.Spec.Replaces, c.Spec.Skips
	b.SkipRange = c.Metadata.Annotations[annotationSkipRange]
	b.DisplayName, b.Description = c.Spec.DisplayName, c.Spec.Description
	if len(c.Spec.Icon) > 0 {
		data, err := DecodeIcon(c.Spec.Icon[0].Data)
		if err != nil {
			r.warn(m.at("spec", "icon"), "the icon is not base64 and is left out")
		} else if len(data) > 0 {
			b.Icon = Icon{Data: data, MediaType: c.Spec.Icon[0].MediaType}
		}
	}
}

// DecodeIcon decodes the base64data of a ClusterServiceVersion's icon. Some are
// wrapped, so blanks are no fault.
func DecodeIcon(text string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
}
