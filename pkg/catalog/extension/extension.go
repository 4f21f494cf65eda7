// Package extension says what OLM v1 makes of a ClusterExtension: which bundle of
// which catalog it installs or updates to, or why it does not.
//
// [Read] takes the manifests that clusters are given, ClusterExtensions and
// ClusterCatalogs, as strict as the API server. [Resolve] then chooses as
// operator-controller does: of every ClusterCatalog that the selector takes in
// and that is available, the bundles of the package that lie in the channels and
// the range of versions, and that are updates of what is installed; of these the
// highest version that is not deprecated; of several catalogs the one of highest
// priority. There is no default channel, no head and no solver in that. What does
// not come out is an [Error] with the meaning, and in the main the words, of
// OLM's own, and with the numbers that show which condition left nothing over.
//
// A bundle that was chosen may still be refused when it is installed. [Refusals]
// are what a catalog tells of that, with or without a ClusterExtension.
//
// The rules are those of operator-controller (resolve, catalogmetadata,
// rukpak/render) and of the API olm.operatorframework.io/v1.
package extension

import (
	"maps"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// An Extension is a ClusterExtension.
type Extension struct {
	Name string
	// Package is spec.source.catalog.packageName.
	Package string
	// Channels limit the bundles and the edges; none means all.
	Channels []string
	// Version is a range as github.com/Masterminds/semver reads it, "" for any.
	// It excludes pre-releases unless it names one itself. What the API does not take
	// for a range resolves to nothing.
	Version string
	// Selector chooses ClusterCatalogs by their labels; the zero value takes all.
	Selector Selector
	// SelfCertified is the upgradeConstraintPolicy of that name: any version is
	// an update, and so is a lower one. The other is CatalogProvided.
	SelfCertified bool
	// WatchNamespace is spec.config.inline.watchNamespace, of clusters that have
	// it; "" watches all namespaces.
	WatchNamespace string
	// Installed is what the status says is installed; nil for nothing.
	Installed *Installed
	// File and Line are where it begins.
	File string
	Line int
}

// Installed is the bundle that a cluster has of an extension.
type Installed struct {
	Name, Version string
	// Release is the release beside the version, mostly "".
	Release string
}

// A Catalog is a ClusterCatalog and what it serves.
type Catalog struct {
	Name string
	// Labels are those of the object. The label
	// olm.operatorframework.io/metadata.name, which catalogd gives every
	// ClusterCatalog, need not be among them.
	Labels   map[string]string
	Priority int32
	// Unavailable is the availabilityMode of that name: it serves nothing.
	Unavailable bool
	// Ref is the image, spec.source.image.ref.
	Ref string
	// Content is what it serves; nil for nothing. Read does not give it.
	Content *catalog.Catalog
	// File and Line are where it begins, if it was read.
	File string
	Line int
}

// labelName is the label that catalogd gives every ClusterCatalog.
const labelName = "olm.operatorframework.io/metadata.name"

// labels are those that a selector sees.
func (c Catalog) labels() map[string]string {
	all := maps.Clone(c.Labels)
	if all == nil {
		all = map[string]string{}
	}
	all[labelName] = c.Name
	return all
}
