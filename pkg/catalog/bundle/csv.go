package bundle

import (
	"github.com/blang/semver/v4"
)

// Kinds of manifests that are decoded.
const (
	kindCSV = "ClusterServiceVersion"
	kindCRD = "CustomResourceDefinition"
)

// annotationProperties is an annotation of a ClusterServiceVersion.
const annotationProperties = "olm.properties"

// A clusterServiceVersion has the members that a catalog uses (operators.coreos.com/v1alpha1).
type clusterServiceVersion struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
		Labels      map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Version        string        `json:"version"`
		Release        string        `json:"release"`
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
		APIServices    apis          `json:"apiservicedefinitions"`
		CRDs           crds          `json:"customresourcedefinitions"`
		RelatedImages  []image       `json:"relatedImages"`
		// The following members are decoded only to check their types, as OLM does.
		Replaces string   `json:"replaces"`
		Skips    []string `json:"skips"`
		Icon     []struct {
			Data      string `json:"base64data"`
			MediaType string `json:"mediatype"`
		} `json:"icon"`
		Install struct {
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

// describe copies name and version from the ClusterServiceVersion.
func (r *reader) describe(m *manifest, c *clusterServiceVersion) {
	b := r.bundle
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
}
