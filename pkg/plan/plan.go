// Package plan is the plan: what is mirrored, why, and how large it is.
//
// A Plan is the center of Gantry. It is complete: tags are resolved to digests, packages to
// bundles, bundles to images, images to manifests and blobs with their sizes. The catalog images
// that Gantry builds are part of it. A Plan is a value that does not change. Its JSON is sorted and
// has no timestamps, so it can be reviewed, committed, and mirrored later or at another site.
//
// A plan does not know its destination. It has repositories ("org/name") and tags; package mirror
// adds the registry, its prefix and its limits. One plan serves a registry, an archive, and the
// registry that the archive is mirrored to.
//
// The package reads, writes, compares and explains plans, and makes parts of them (Without,
// OnlyCatalogs, OnlyImages, OnlyReleases, Replace). Package pkg/plan/build makes the plan of a
// configuration. This package touches neither network nor disk, and does not link the packages for
// catalogs.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
)

// Kind and Version are the fields of a plan's JSON that identify it. Version changes if an older
// reader would misunderstand the new form.
const (
	Kind    = "GantryPlan"
	Version = 1
)

// A Plan is everything that one configuration mirrors.
type Plan struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	// Name is the base name of the configuration file without its extension. It identifies a plan
	// in its workspace.
	Name   string `json:"name"`
	Totals Totals `json:"totals"`
	// ArchiveSize is the limit of an archive volume in GiB; 0 is the default.
	ArchiveSize int64 `json:"archiveSize,omitempty"`
	// Format is what all media types of the plan were converted to; "" if images have those of their sources.
	Format   manifest.Format `json:"format,omitempty"`
	Catalogs []Catalog       `json:"catalogs,omitempty"`
	// Releases are platform releases, sorted by name. Updates are the update paths between them.
	Releases []Release    `json:"releases,omitempty"`
	Updates  []UpdatePath `json:"updates,omitempty"`
	// UpdateGraphs are the graphs that the releases were selected from.
	UpdateGraphs []UpdateGraph `json:"updateGraphs,omitempty"`
	GraphData    *GraphData    `json:"graphData,omitempty"`
	// TagRules are the rules of the configuration that selected tags of additional images, sorted by
	// repository.
	TagRules []TagRule `json:"tagRules,omitempty"`
	// SignaturePolicy identifies the signature policy, with its keys, that accepted every image; "" if
	// none was applied.
	SignaturePolicy digest.Digest `json:"signaturePolicy,omitempty"`
	// Charts are Helm charts, sorted by name, version and origin.
	Charts []Chart `json:"charts,omitempty"`
	// Files are files that are mirrored as artifacts, sorted by name.
	Files []File `json:"files,omitempty"`
	// Images are sorted by repository, then source.
	Images []Image `json:"images"`
	// Missing are images that are unavailable at the source. A catalog that names one of them is
	// not published.
	Missing []Missing `json:"missing,omitempty"`
	// Blocked are images that mirror.blockedImages matches.
	Blocked []Blocked `json:"blocked,omitempty"`
	// Notes are messages for the user, sorted.
	Notes []string `json:"notes,omitempty"`
	// Manifests and Blobs are unique and sorted by digest.
	Manifests []Manifest `json:"manifests"`
	Blobs     []Blob     `json:"blobs"`
}

// Totals are the counts and sizes of a plan. Bytes counts each manifest and blob once: the size of
// a transfer to an empty mirror.
type Totals struct {
	Images    int   `json:"images"`
	Manifests int   `json:"manifests"`
	Blobs     int   `json:"blobs"`
	Bytes     int64 `json:"bytes"`
}

func (t Totals) String() string {
	return fmt.Sprintf("%d images, %d manifests, %d blobs, %d bytes", t.Images, t.Manifests, t.Blobs, t.Bytes)
}

// Count returns the totals of what the plan lists.
func (p *Plan) Count() Totals {
	t := Totals{Images: len(p.Images), Manifests: len(p.Manifests), Blobs: len(p.Blobs)}
	for _, m := range p.Manifests {
		t.Bytes = min(t.Bytes+m.Size, maxBytes+1)
	}
	for _, b := range p.Blobs {
		t.Bytes = min(t.Bytes+b.Size, maxBytes+1)
	}
	return t
}

// An ImageKind is the role of an image.
type ImageKind string

// The kinds of images in a plan.
const (
	CatalogImage    ImageKind = "catalog"
	BundleImage     ImageKind = "bundle"
	RelatedImage    ImageKind = "related"
	AdditionalImage ImageKind = "additional"
	// ReleaseImage is the payload of a release, ComponentImage an image that the payload names,
	// BootImage the disk of virtual machines that belongs to it.
	ReleaseImage   ImageKind = "release"
	ComponentImage ImageKind = "component"
	BootImage      ImageKind = "boot"
	// SignatureImage, AttestationImage and SBOMImage belong to another image, Image.Subject. cosign
	// stores them beside it, under tags that are made of its digest.
	SignatureImage   ImageKind = "signature"
	AttestationImage ImageKind = "attestation"
	SBOMImage        ImageKind = "sbom"
	// ReferrerImage is a manifest that names Image.Subject as its subject (OCI 1.1), such as a
	// sigstore bundle. It has no tag.
	ReferrerImage ImageKind = "referrer"
	// GraphImage contains the plan's GraphData.
	GraphImage ImageKind = "graph"
	// ChartImage is the artifact of a Helm chart.
	ChartImage ImageKind = "chart"
	// FileImage is the artifact of a file.
	FileImage ImageKind = "file"
)

// An Image is one image in one repository of the mirror.
type Image struct {
	// Source is the full reference as in the catalog or the configuration
	// ("docker.io/library/centos:7"), or "oci://DIR", "dir://DIR". A chart may also have the http
	// or https address of its archive, or "chart://PATH". The source of a file begins with FileScheme.
	Source string    `json:"source"`
	Kind   ImageKind `json:"kind"`
	// Catalog is the name of the catalog (Catalog.Name) whose image this is. It is "" for other
	// images.
	Catalog string `json:"catalog,omitempty"`
	// Digest is the digest of the root manifest in the mirror. It differs from the digest of the
	// source only for images that were built, and those with RewrittenFrom.
	Digest digest.Digest `json:"digest"`
	// RewrittenFrom is the index of the source that Digest was made from, with fewer platforms, or with
	// Plan.Format the index or manifest that was converted; "" if the image keeps its digest.
	RewrittenFrom digest.Digest `json:"rewrittenFrom,omitempty"`
	// NotRewritten is why the image keeps its digest, and with it all its platforms, although the
	// configuration asks for a smaller index; usually "".
	NotRewritten string `json:"notRewritten,omitempty"`
	// NamedBy is what names RewrittenFrom and cannot be changed, so that clusters do not find the image. It is ""
	// unless the image was converted.
	NamedBy string `json:"namedBy,omitempty"`
	// Repository is the path below the mirror's registry and prefix.
	Repository string `json:"repository"`
	// Tags are empty for a ReferrerImage, and only for that.
	Tags []string `json:"tags"`
	// Subject is the manifest that this image is a signature, attestation, bill of materials or other
	// referrer of. It is "" for other images, and in plans of earlier versions.
	Subject digest.Digest `json:"subject,omitempty"`
	// ArtifactType is the type of a ReferrerImage: its artifactType, or else the media type of its config or of
	// itself. PredicateType is what a sigstore bundle with an attestation states, by its annotation. Both are ""
	// for other images, and in plans of earlier versions.
	ArtifactType  string `json:"artifactType,omitempty"`
	PredicateType string `json:"predicateType,omitempty"`
	// Size is the size of all manifests and blobs of the image in bytes, including those that other
	// images share.
	Size    int64    `json:"size"`
	Reasons []Reason `json:"because"`
	// Signers are who signed the image, by the signature policy, sorted. There are none if the policy
	// accepts it unsigned, or was not applied.
	Signers []Signer `json:"signers,omitempty"`
	// Signatures are OpenPGP signatures of the image and of the images of its index, sorted by digest. They
	// are there if the signature policy asks for such signatures, and are verified again wherever a policy
	// is applied.
	Signatures []Signature `json:"signatures,omitempty"`
}

// A Signer is who signed an image.
type Signer struct {
	// Type is the type of the requirement in the policy: "sigstoreSigned" or "signedBy".
	Type string `json:"type"`
	// Name is "key " and a fingerprint, or an identity and its issuer.
	Name string `json:"name"`
}

// CompareSigners orders signers.
func CompareSigners(a, b Signer) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

// A Reason is one reason for an image: a bundle of a catalog, a release, a chart, or a list of the
// configuration that names it. The catalog's packages list why the bundle was kept.
type Reason struct {
	// Catalog is the name of the catalog in the plan (Catalog.Name). It is "" if List or Release is
	// set alone.
	Catalog string `json:"catalog,omitempty"`
	Package string `json:"package,omitempty"`
	Bundle  string `json:"bundle,omitempty"`
	// Name is the name of the related image in the bundle, usually "", of the component in the
	// release, or of an object in the chart that names the image ("Deployment web").
	Name string `json:"name,omitempty"`
	// List is the list of the configuration: "additionalImages", "operators" for the image of a
	// catalog, "platform" for the image of graph data, "files", or "signatures" for what belongs to
	// another image.
	List string `json:"list,omitempty"`
	// Rule is the text of the rule for tags that selected the image (TagRule.Rule), usually "".
	Rule string `json:"rule,omitempty"`
	// Release is the name of a release in the plan (Release.Name). Name is the name of the
	// component then.
	Release string `json:"release,omitempty"`
	// Chart is the text of a chart in the plan (Chart.String).
	Chart string `json:"chart,omitempty"`
}

// Missing is an image that could not be planned.
type Missing struct {
	Source  string    `json:"source"`
	Kind    ImageKind `json:"kind"`
	Message string    `json:"reason"`
	Reasons []Reason  `json:"because"`

	err error
}

// NewMissing returns an image that could not be planned because of err.
func NewMissing(source string, kind ImageKind, err error, reasons []Reason) Missing {
	return Missing{Source: source, Kind: kind, Message: CleanMessage(advice.Text(err)), Reasons: reasons, err: err}
}

// Err is the error that Message was made from. It is nil in a plan that was read back.
func (m Missing) Err() error { return m.err }

// Blocked is an image that blockedImages matches.
type Blocked struct {
	Source  string   `json:"source"`
	Pattern string   `json:"pattern"`
	Reasons []Reason `json:"because"`
}

// A Manifest is an image manifest or an index. Manifests lists the children of an index that are
// mirrored, Blobs the config and layers of an image.
type Manifest struct {
	Digest    digest.Digest   `json:"digest"`
	MediaType string          `json:"mediaType"`
	Size      int64           `json:"size"`
	Manifests []digest.Digest `json:"manifests,omitempty"`
	// Sparse reports whether the index names children besides Manifests, for platforms that are not
	// mirrored. Many registries refuse such an index.
	Sparse bool            `json:"sparse,omitempty"`
	Blobs  []digest.Digest `json:"blobs,omitempty"`
}

// A Blob is a config or a layer.
type Blob struct {
	Digest digest.Digest `json:"digest"`
	Size   int64         `json:"size"`
}

// isAt reports whether the image gets this tag in this repository.
func (img *Image) isAt(repository, tag string) bool {
	return img.Repository == repository && slices.Contains(img.Tags, tag)
}
