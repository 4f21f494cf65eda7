// Package resources writes the manifests that make a cluster use a mirror.
//
// Its input is the mirrored content: images, each with the reference that the cluster requests and
// the reference in the mirror, and catalogs. Its output is files with one object each, for `oc
// apply -f DIR`:
//
//	idms-operator-0.yaml   ImageDigestMirrorSet: pulls by digest
//	itms-operator-0.yaml   ImageTagMirrorSet: pulls by tag
//	cs-index-v4-20.yaml    CatalogSource: the catalog for OLM classic
//	cc-index-v4-20.yaml    ClusterCatalog: the catalog for OLM v1
//
// For platform releases, BuildPlatform writes a ConfigMap with the signatures of each payload, and
// an UpdateService.
//
// A node merges all mirror sets into one registries.conf, in which the longest source that matches
// a pull takes precedence, regardless of the kind of set. The sources are therefore chosen over all
// images at once (see chooseScopes). Finally, every image is looked up as a node would (see
// lookUp). A note names each image that the cluster would not find, or would find with other
// content.
//
// The same input gives the same bytes, in any order: there are no timestamps, a catalog keeps the name
// that it got first (see NameCatalogs), and adding or removing an image changes as few files as possible. One file per
// object makes changes visible: if a file disappears, its object is to be deleted. All output is
// valid for the CustomResourceDefinitions of OpenShift and OLM, including their CEL rules.
package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// An Image is one image of the mirror.
type Image struct {
	// Source is the reference that the cluster requests: with a digest (a tag is then ignored),
	// with a tag, or with neither, which means "latest".
	Source reference.Reference
	// Mirror is the image in the mirror, with the tag and digest it was pushed by. An empty digest
	// means that it equals the digest of Source.
	Mirror reference.Reference
	// Kind names the group of mirror sets that the image belongs to: "operator", "release",
	// "generic" (additional images). It is part of their names. An image with an empty Kind is in
	// no mirror set: no cluster requests it by its source.
	Kind string
}

// A Catalog is one catalog image of the mirror.
type Catalog struct {
	// Source is the catalog as configured: "quay.io/org/index:v1", "oci://DIR", "dir://DIR".
	Source string
	// Target is the "REPOSITORY:TAG" that the configuration sets for the catalog in the mirror.
	// Either half may be missing; "" means that it sets none. One source with two targets is two
	// catalogs.
	Target string
	// Name is the name that NameCatalogs gave the catalog. Build gives one to a catalog without.
	Name string `json:"-"`
	// Mirror is the catalog in the mirror. It needs a digest, and also a tag if the template polls.
	Mirror reference.Reference
	// Template is the CatalogSource of targetCatalogSourceTemplate as YAML, nil if none is
	// configured. TemplateName is its file, for messages.
	Template     []byte
	TemplateName string
	// ClusterCatalogTemplate and ClusterCatalogTemplateName are the same of
	// targetClusterCatalogTemplate.
	ClusterCatalogTemplate     []byte `json:",omitempty"`
	ClusterCatalogTemplateName string `json:",omitempty"`
	// BinaryLess means that the image contains no opm, so that the cluster has to serve the
	// catalog's ConfigsDir ("" means "/configs") with its own.
	BinaryLess bool
	ConfigsDir string
	// VariantOf is the catalog, "SOURCE" or "SOURCE as TARGET", whose CatalogSource names this one in
	// the annotation olm.catalogImageTemplate. Such a catalog gets no objects of its own.
	VariantOf string `json:",omitempty"`
}

// Options change what Build writes. The zero value suits most clusters.
type Options struct {
	// MirrorSourcePolicy is set on every mirror set entry: "NeverContactSource" or
	// "AllowContactingSource". If it is empty, the field is omitted and the cluster falls back to
	// the source.
	MirrorSourcePolicy string
	// Suffix is part of the names of mirror sets, "idms-operator-SUFFIX-0", so that those of several
	// mirrors exist beside each other in a cluster. "" is for names without one. See CheckSuffix.
	Suffix string
	// ImagePolicies is the version of the policies for signatures: ImagePolicyV1, which is the default,
	// ImagePolicyV1alpha1, or NoImagePolicies. With ImagePolicyNamespace, they are ImagePolicies there
	// instead of ClusterImagePolicies. See BuildImagePolicies.
	ImagePolicies, ImagePolicyNamespace string
	// ICSP writes ImageContentSourcePolicies, for clusters before OpenShift 4.13, in place of mirror sets.
	// They redirect no tags, and have no MirrorSourcePolicy.
	ICSP bool
	// MaxBytes limits the size of one mirror set; 0 means 250000. `oc apply` stores the object in
	// an annotation, which must stay below 262144 bytes.
	MaxBytes int
}

// A File is one manifest: a name without folder, and the text.
type File struct {
	Name string
	Text []byte
}

// FileNames returns the names of files; no files have an empty list.
func FileNames(files []File) []string {
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// SourcePolicies returns the values of a mirror set's mirrorSourcePolicy.
func SourcePolicies() []string { return []string{neverContactSource, "AllowContactingSource"} }

const defaultMaxBytes = 250_000

// Build returns the manifests for a mirror that contains images and catalogs, sorted by name. The
// notes are sentences for people about images and catalogs that clusters will not find or use as
// configured. Build fails on input that no cluster would accept: a template that is not a
// CatalogSource, two objects of one name, a catalog without digest.
func Build(images []Image, catalogs []Catalog, opts Options) (files []File, notes []string, err error) {
	opts.MaxBytes = cmp.Or(opts.MaxBytes, defaultMaxBytes)
	policies := SourcePolicies()
	if p := opts.MirrorSourcePolicy; p != "" && !slices.Contains(policies, p) {
		return nil, nil, fmt.Errorf("mirror source policy %q: want %s%s", p, strings.Join(policies, " or "), hint(p, policies))
	}
	if opts.ICSP && opts.MirrorSourcePolicy != "" {
		return nil, nil, fmt.Errorf("mirror source policy %q: an ImageContentSourcePolicy cannot have one", opts.MirrorSourcePolicy)
	}
	files, notes, err = mirrorSets(images, opts)
	if err != nil {
		return nil, nil, err
	}
	more, moreNotes, err := catalogManifests(catalogs)
	if err != nil {
		return nil, nil, err
	}
	files = append(files, more...)
	elements.Sort(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	notes = append(notes, moreNotes...)
	slices.Sort(notes)
	return files, slices.Compact(notes), nil
}
