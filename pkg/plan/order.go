package plan

import (
	"cmp"
	"slices"
	"strings"
)

// CompareImages orders the images of a plan: by repository, then by source, tags, digest and kind.
// No two images of a plan are equal in it.
func CompareImages(a, b Image) int {
	return cmp.Or(
		strings.Compare(a.Repository, b.Repository),
		strings.Compare(a.Source, b.Source),
		slices.Compare(a.Tags, b.Tags),
		strings.Compare(string(a.Digest), string(b.Digest)),
		cmp.Compare(b.Kind.Rank(), a.Kind.Rank()))
}

// CompareReasons orders the reasons of an image.
func CompareReasons(a, b Reason) int {
	return cmp.Or(
		strings.Compare(a.List, b.List),
		strings.Compare(a.Catalog, b.Catalog),
		strings.Compare(a.Package, b.Package),
		strings.Compare(a.Bundle, b.Bundle),
		strings.Compare(a.Release, b.Release),
		strings.Compare(a.Chart, b.Chart),
		strings.Compare(a.Name, b.Name),
		strings.Compare(a.Rule, b.Rule))
}

// Rank orders kinds by how specific they are. An image that is requested in several roles gets the
// kind with the highest rank.
func (k ImageKind) Rank() int {
	return slices.Index([]ImageKind{
		AdditionalImage, RelatedImage, BundleImage, CatalogImage, ReferrerImage, SBOMImage, AttestationImage, SignatureImage, BootImage, ComponentImage, ReleaseImage, GraphImage, ChartImage, FileImage,
	}, k)
}
