// Package extension predicts what OLM v1 does with a ClusterExtension: which bundle of which
// catalog it installs or updates to, or why it does not.
//
// [Read] reads the manifests of ClusterExtensions and ClusterCatalogs as strictly as the API
// server. [Resolve] then chooses a bundle as operator-controller does. It considers every available
// ClusterCatalog that the selector matches, and in it the bundles of the package that are in the
// channels and the version range and are updates of the installed bundle. Of these it chooses the
// highest version that is not deprecated, and of several catalogs the one with the highest
// priority. Default channels and heads play no role, and there is no solver. Without a result,
// Resolve returns an [Error] with the message of OLM v1 where possible, and with the number of
// bundles that each condition leaves.
//
// A bundle that was chosen may still be refused at installation. [Refusals] lists the reasons that
// a catalog shows, with or without a ClusterExtension.
//
// The rules are those of operator-controller (resolve, catalogmetadata, rukpak/render) and of the
// API olm.operatorframework.io/v1.
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
	// Channels limit the bundles and the edges; all channels if empty.
	Channels []string
	// Version is a version range in the syntax of github.com/Masterminds/semver, "" for any
	// version. It excludes pre-releases unless it names one itself. A range that the API rejects is
	// an error of Resolve.
	Version string
	// Selector chooses ClusterCatalogs by their labels; the zero value matches all.
	Selector Selector
	// SelfCertified is the upgradeConstraintPolicy of that name: any version is an update, even a
	// lower one. The other policy is CatalogProvided.
	SelfCertified bool
	// WatchNamespace is spec.config.inline.watchNamespace, which not all clusters support; ""
	// watches all namespaces.
	WatchNamespace string
	// Installed is the installed bundle according to the status; nil if none.
	Installed *Installed
	// File and Line are the position of the manifest.
	File string
	Line int
}

// Installed is the bundle that a cluster has installed for an extension.
type Installed struct {
	Name, Version string
	// Release is the release in addition to the version, mostly "".
	Release string
}

// A Catalog is a ClusterCatalog and its content.
type Catalog struct {
	Name string
	// Labels are the labels of the object. The label olm.operatorframework.io/metadata.name, which
	// catalogd adds to every ClusterCatalog, may be omitted.
	Labels   map[string]string
	Priority int32
	// Unavailable is the availabilityMode of that name: the catalog serves nothing.
	Unavailable bool
	// Ref is the image, spec.source.image.ref.
	Ref string
	// Content is the served catalog; nil if none. Read does not set it.
	Content *catalog.Catalog
	// File and Line are the position of the manifest, if it was read.
	File string
	Line int
}

// labelName is the label that catalogd adds to every ClusterCatalog.
const labelName = "olm.operatorframework.io/metadata.name"

// labels returns the labels that selectors match.
func (c Catalog) labels() map[string]string {
	all := maps.Clone(c.Labels)
	if all == nil {
		all = map[string]string{}
	}
	all[labelName] = c.Name
	return all
}
