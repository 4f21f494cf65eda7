// Package plan turns a configuration into a plan: what is mirrored, why, and
// how large it is.
//
// A Plan is the centre of Gantry. It is complete: tags are resolved to digests,
// packages to bundles, bundles to images, images to manifests and blobs with
// their sizes, and the catalog images that Gantry builds are part of it, built
// before anything is copied. It is a value: nothing changes it once it is made,
// and the same inputs give the same bytes of JSON, so that it can be reviewed,
// committed and carried out later, elsewhere, or over a disk.
//
// A plan does not know its destination. It names repositories below it
// ("org/name") and tags; the registry, its prefix and its limits are applied by
// package mirror, so that one plan serves a registry, an archive and, after the
// disk was carried, another registry.
//
// The package reads through interfaces that it declares (Images, Files, Store)
// and touches neither network nor disk itself.
package plan

import (
	"fmt"

	"github.com/opencontainers/go-digest"
)

// Kind and Version are what a plan's JSON says of itself. Version changes when
// a reader of the older form would misunderstand the newer one.
const (
	Kind    = "GantryPlan"
	Version = 1
)

// A Plan is everything that one configuration brings to a mirror.
type Plan struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	// Name tells plans of one workspace apart: the base name of the
	// configuration file, without its ending.
	Name   string `json:"name"`
	Totals Totals `json:"totals"`
	// ArchiveSize is the limit of an archive volume in GiB; 0 is the default.
	ArchiveSize int64     `json:"archiveSize,omitempty"`
	Catalogs    []Catalog `json:"catalogs,omitempty"`
	// Releases are platform releases, sorted by name; Updates the ways that clusters
	// take between them.
	Releases []Release    `json:"releases,omitempty"`
	Updates  []UpdatePath `json:"updates,omitempty"`
	// UpdateGraphs are those that the releases were chosen from.
	UpdateGraphs []UpdateGraph `json:"updateGraphs,omitempty"`
	GraphData    *GraphData    `json:"graphData,omitempty"`
	// Images are sorted by repository, then source.
	Images []Image `json:"images"`
	// Missing are images that the source did not give; a catalog that names one
	// of them is held back.
	Missing []Missing `json:"missing,omitempty"`
	// Blocked are images that mirror.blockedImages leaves out.
	Blocked []Blocked `json:"blocked,omitempty"`
	// Notes are sentences for the person who decides, sorted.
	Notes []string `json:"notes,omitempty"`
	// Manifests and Blobs are unique and sorted by digest.
	Manifests []Manifest `json:"manifests"`
	Blobs     []Blob     `json:"blobs"`
}

// Totals are counts and sizes of a plan. Bytes are those of unique manifests
// and blobs: what has to move to an empty mirror.
type Totals struct {
	Images    int   `json:"images"`
	Manifests int   `json:"manifests"`
	Blobs     int   `json:"blobs"`
	Bytes     int64 `json:"bytes"`
}

func (t Totals) String() string {
	return fmt.Sprintf("%d images, %d manifests, %d blobs, %d bytes", t.Images, t.Manifests, t.Blobs, t.Bytes)
}

// count makes the totals of what the plan lists.
func (p *Plan) count() Totals {
	t := Totals{Images: len(p.Images), Manifests: len(p.Manifests), Blobs: len(p.Blobs)}
	for _, m := range p.Manifests {
		t.Bytes += m.Size
	}
	for _, b := range p.Blobs {
		t.Bytes += b.Size
	}
	return t
}

// An ImageKind says where an image came from.
type ImageKind string

// The kinds of image that a plan holds.
const (
	CatalogImage    ImageKind = "catalog"
	BundleImage     ImageKind = "bundle"
	RelatedImage    ImageKind = "related"
	AdditionalImage ImageKind = "additional"
	// ReleaseImage is the payload of a release, ComponentImage what it names,
	// BootImage the disk of virtual machines that belongs to it.
	ReleaseImage   ImageKind = "release"
	ComponentImage ImageKind = "component"
	BootImage      ImageKind = "boot"
	// SignatureImage holds signatures of another image of a release, as cosign
	// writes them.
	SignatureImage ImageKind = "signature"
	// GraphImage carries the plan's GraphData.
	GraphImage ImageKind = "graph"
)

// An Image is one image in one repository of the mirror.
type Image struct {
	// Source is the reference as the catalog or the configuration has it, in
	// full ("docker.io/library/centos:7"), or "oci://DIR", "dir://DIR".
	Source string    `json:"source"`
	Kind   ImageKind `json:"kind"`
	// Catalog is the name of the catalog (Catalog.Name) whose image this is; ""
	// for other images.
	Catalog string `json:"catalog,omitempty"`
	// Digest is that of the root manifest as it arrives in the mirror. It
	// differs from the source's only for catalogs that were rebuilt.
	Digest digest.Digest `json:"digest"`
	// Repository is the path below the mirror's registry and prefix.
	Repository string   `json:"repository"`
	Tags       []string `json:"tags"`
	// Size is that of all manifests and blobs of the image, in bytes, before
	// sharing.
	Size    int64     `json:"size"`
	Because []Because `json:"because"`
}

// Because is one reason for an image: the bundle of a catalog that names it, or
// the list of the configuration. Why the bundle was kept stands in the
// catalog's packages.
type Because struct {
	// Catalog is the name of the catalog in the plan (Catalog.Name), or "" for
	// additional images.
	Catalog string `json:"catalog,omitempty"`
	Package string `json:"package,omitempty"`
	Bundle  string `json:"bundle,omitempty"`
	// Name is that of the related image in the bundle, mostly "", or that of the
	// component in the release.
	Name string `json:"name,omitempty"`
	// List is the list of the configuration: "additionalImages", or "platform" for
	// the image of graph data.
	List string `json:"list,omitempty"`
	// Release is the name of a release in the plan (Release.Name); Name is that of
	// the component then.
	Release string `json:"release,omitempty"`
}

// Missing is an image that could not be planned.
type Missing struct {
	Source  string    `json:"source"`
	Kind    ImageKind `json:"kind"`
	Reason  string    `json:"reason"`
	Because []Because `json:"because"`

	err error
}

// Err is the error that Reason was made of; nil in a plan that was read back.
func (m Missing) Err() error { return m.err }

// Blocked is an image that was left out on purpose.
type Blocked struct {
	Source  string    `json:"source"`
	Pattern string    `json:"pattern"`
	Because []Because `json:"because"`
}

// A Manifest is an image manifest or an index. Manifests lists the children of
// an index that are mirrored, Blobs the config and layers of an image.
type Manifest struct {
	Digest    digest.Digest   `json:"digest"`
	MediaType string          `json:"mediaType"`
	Size      int64           `json:"size"`
	Manifests []digest.Digest `json:"manifests,omitempty"`
	// Sparse says that the index names children beside Manifests, which
	// platforms left out. Many registries refuse such an index.
	Sparse bool            `json:"sparse,omitempty"`
	Blobs  []digest.Digest `json:"blobs,omitempty"`
}

// A Blob is a config or a layer.
type Blob struct {
	Digest digest.Digest `json:"digest"`
	Size   int64         `json:"size"`
}
