package plan

import (
	"encoding/json"

	"github.com/opencontainers/go-digest"
)

// A Catalog is one operator catalog: its source, what was kept of it, and its image in the mirror.
type Catalog struct {
	// Source is the reference in the configuration.
	Source string `json:"source"`
	// SourceDigest is the root manifest of the source when the plan was made; "" for dir://.
	SourceDigest digest.Digest `json:"sourceDigest,omitempty"`
	// Target is the "REPOSITORY:TAG" of targetCatalog and targetTag. Either part may be empty. Target
	// is "" if neither is set. A plan may list a source once for each target.
	Target string `json:"target,omitempty"`
	// Digest, Repository and Tag identify the image in the mirror.
	Digest     digest.Digest `json:"digest"`
	Repository string        `json:"repository"`
	Tag        string        `json:"tag"`
	// Built reports whether Gantry built the image. Otherwise it is the image of the source.
	Built bool `json:"built"`
	// BinaryLess reports whether the image contains no program that serves the catalog, so that a
	// CatalogSource has to extract its content.
	BinaryLess bool `json:"binaryLess,omitempty"`
	// ConfigsDir is the directory of the catalog in the image: "/configs".
	ConfigsDir string `json:"configsDir"`
	// Selection is the mirror.operators[] entry, with the operators of its packages that clusters
	// have installed.
	Selection json.RawMessage `json:"selection"`
	// Template and TemplateName are the text and the name of the
	// targetCatalogSourceTemplate.
	Template     string `json:"template,omitempty"`
	TemplateName string `json:"templateName,omitempty"`
	// ClusterCatalogTemplate and ClusterCatalogTemplateName are the same of the
	// targetClusterCatalogTemplate.
	ClusterCatalogTemplate     string    `json:"clusterCatalogTemplate,omitempty"`
	ClusterCatalogTemplateName string    `json:"clusterCatalogTemplateName,omitempty"`
	Packages                   []Package `json:"packages"`
	// Required are bundles that were kept because others need them. With Selection and
	// SourceDigest, they are all that is needed to build the image again.
	Required []Required `json:"required,omitempty"`
	// VariantOf is the name of the catalog whose Template names this one for a version of Kubernetes, in
	// the annotation olm.catalogImageTemplate; "" for the catalogs of the configuration. A variant has
	// the same selection, and gets no objects in clusters.
	VariantOf string `json:"variantOf,omitempty"`
	// Excluded are packages that Selection keeps and the image does not contain, because images
	// that they name are unavailable. Packages does not list them.
	Excluded []Excluded `json:"leftOut,omitempty"`
	// TooYoung are bundles that were left out because they are younger than the plan allows, sorted by package and
	// bundle. The selection was made as if they had not been published yet.
	TooYoung []YoungBundle `json:"tooYoung,omitempty"`
	// Unlisted are images that bundles use and do not list in relatedImages, sorted by package, bundle and
	// image. A note has the number of bundles for which this is unknown.
	Unlisted []UnlistedImage `json:"unlistedImages,omitempty"`
	// Features are the features that the heads of the default channels declare, sorted by package. Heads
	// that declare none are left out. Read accepts them, and Write leaves them out.
	Features FeatureList `json:"features,omitzero"`
}

// YoungBundle is a bundle that was left out because of its age.
type YoungBundle struct {
	Package string `json:"package"`
	Bundle  string `json:"bundle"`
	// Created is the day on which its image was created: "2026-01-31" (UTC).
	Created string `json:"created"`
}

// Required is a bundle that others need, in the channel that it was selected from.
type Required struct {
	Package string `json:"package"`
	Channel string `json:"channel"`
	Bundle  string `json:"bundle"`
	For     string `json:"for"` // the bundle that needs it, as text
}

// Name identifies the catalog in a plan: the source, and the target if the configuration sets one.
func (c Catalog) Name() string {
	if c.Target == "" {
		return c.Source
	}
	return c.Source + " as " + c.Target
}

// A Package is a package that was kept.
type Package struct {
	Name           string    `json:"name"`
	DefaultChannel string    `json:"defaultChannel"`
	Channels       []Channel `json:"channels"`
}

// A Channel is a channel that was kept.
type Channel struct {
	Name    string   `json:"name"`
	Head    string   `json:"head"`
	Bundles []Bundle `json:"bundles"`
}

// A Bundle is a bundle that was kept in a channel, and why.
type Bundle struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Reason is one of the reasons of package filter: head, range, full, bundle, installed,
	// dependency, continuity.
	Reason string `json:"reason"`
	// For is the bundle that continuity was kept for, the installed bundle, or the bundle that has
	// the dependency; usually "".
	For string `json:"for,omitempty"`
}
