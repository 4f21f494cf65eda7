// Package resources writes the manifests that make a cluster use a mirror.
//
// What was mirrored goes in: images, each with the reference that the cluster
// asks for and the place where it stands in the mirror, and catalogs. Files
// come out, one object each, for `oc apply -f DIR`:
//
//	idms-operator-0.yaml   ImageDigestMirrorSet: pulls by digest
//	itms-operator-0.yaml   ImageTagMirrorSet: pulls by tag
//	cs-….yaml              CatalogSource: the catalog for OLM classic
//	cc-….yaml              ClusterCatalog: the catalog for OLM v1
//
// For platform releases, BuildPlatform writes a ConfigMap with the signatures of each
// payload, and an UpdateService.
//
// A node merges all mirror sets into one registries.conf, where the longest
// source that matches a pull wins alone, whichever kind of set it came from.
// So the sources are chosen over all images at once (see chooseScopes), and in
// the end every image is looked up as a node would (see lookUp). An image that
// the cluster would not find, or would find with other content, is named in a
// note.
//
// The same input gives the same bytes, whatever its order: there are no
// timestamps, names depend on the source alone, and one image more or less
// changes as few files as possible. One file per object makes that visible:
// a file that is gone is an object to delete. Everything that is written is
// valid for the CustomResourceDefinitions of OpenShift and OLM, CEL rules
// included.
package resources

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// An Image is one image of the mirror.
type Image struct {
	// Source is what the cluster asks for: with a digest (a tag beside it
	// does not count then), with a tag, or with neither, which means "latest".
	Source reference.Reference
	// Mirror is where it stands, with the tag and digest it was pushed by.
	// An empty digest says that it is the source's.
	Mirror reference.Reference
	// Kind names the group of mirror sets that the image belongs to:
	// "operator", "release", "generic" (additional images). It is part of their
	// names. "" keeps an image out of them: no cluster asks for it by its source.
	Kind string
}

// A Catalog is one catalog image of the mirror.
type Catalog struct {
	// Source is the catalog as it was configured: "quay.io/org/index:v1",
	// "oci://DIR", "dir://DIR". Names and hashes come from it.
	Source string
	// Target is the "REPOSITORY:TAG" that the configuration gives the catalog
	// instead of its own, either half of which may be missing; "" where it gives
	// none. One source with two targets is two catalogs.
	Target string
	// Mirror is where the catalog stands; it needs a digest, and for a
	// template that polls a tag too.
	Mirror reference.Reference
	// Template is the CatalogSource of targetCatalogSourceTemplate, as YAML;
	// nil where there is none. TemplateName is its file, for messages.
	Template     []byte
	TemplateName string
	// BinaryLess says that the image holds no opm, so that the cluster has to
	// serve the catalog's ConfigsDir ("" means "/configs") with its own.
	BinaryLess bool
	ConfigsDir string
}

// Options change what Build writes. The zero value is what most clusters want.
type Options struct {
	// MirrorSourcePolicy is set on every mirror set entry:
	// "NeverContactSource" or "AllowContactingSource". "" leaves it out, and
	// the cluster falls back to the source.
	MirrorSourcePolicy string
	// MaxBytes limits one mirror set; 0 means 250000. What `oc apply` keeps of
	// an object in an annotation must stay below 262144 bytes.
	MaxBytes int
}

// A File is one manifest: a name without folder, and the text.
type File struct {
	Name string
	Text []byte
}

// SourcePolicies are the values of a mirror set's mirrorSourcePolicy.
func SourcePolicies() []string { return []string{neverContactSource, "AllowContactingSource"} }

const defaultMaxBytes = 250_000

// Build returns the manifests for a mirror that holds images and catalogs,
// sorted by name, and notes on what they cannot bring about, each a sentence
// for people. It fails on what no cluster would take: a template that is not a
// CatalogSource, two objects of one name, a catalog without digest.
func Build(images []Image, catalogs []Catalog, opts Options) (files []File, notes []string, err error) {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = defaultMaxBytes
	}
	policies := SourcePolicies()
	if p := opts.MirrorSourcePolicy; p != "" && !slices.Contains(policies, p) {
		return nil, nil, fmt.Errorf("mirror source policy %q: want %s%s", p, strings.Join(policies, " or "), hint(p, policies))
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
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	notes = append(notes, moreNotes...)
	slices.Sort(notes)
	return files, slices.Compact(notes), nil
}

// hint is suggest.Phrase as the tail of a sentence.
func hint(word string, candidates []string) string {
	if p := suggest.Phrase(word, candidates); p != "" {
		return "; " + p
	}
	return ""
}
