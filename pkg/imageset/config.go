// Package imageset reads the configuration: what to mirror.
//
// The format is oc mirror's ImageSetConfiguration, mirror.openshift.io/v2alpha1. Text (YAML, or
// JSON, which is YAML) goes in. A Config comes out that needs no further checks of its own fields,
// or an *Error with everything that is wrong with the file: each Problem has its position and a
// hint.
//
// What oc mirror reads is read, if the text can mean only one thing: files of v1 (v1alpha1 and
// v1alpha2), names in another case, repeated entries, versions such as 4.18. Each such text is one
// of the Config's Warnings. Convert rewrites the file without them. Text that oc mirror reads and
// that fails when it is used, such as the placeholder of a template, makes the Config unusable
// (Usable). An unknown field is an error, with the name that was probably meant. Whether packages,
// channels, files and images exist is not checked here: reading uses no file but the configuration.
//
// One table (format.go) describes the format. It decodes and encodes the types, provides the
// suggestions and generates the JSON Schema, which describes files without warnings.
package imageset

import (
	"regexp"
)

// APIVersion and Kind identify an ImageSetConfiguration.
const (
	APIVersion = "mirror.openshift.io/v2alpha1"
	Kind       = "ImageSetConfiguration"
)

// A Config is one ImageSetConfiguration. It has been validated: if it is usable (Usable), what Load
// returns needs no further checks of its own fields. It marshals to JSON as Parse reads it.
type Config struct {
	Pos Position
	// ArchiveSize is the limit of one archive volume in GiB; 0 if the file does not set it. In
	// bytes it fits an int64.
	ArchiveSize int64
	Mirror      Mirror
	// Warnings are what was read and should be corrected, in the order of the file.
	Warnings []Problem
	// Unusable are those of the warnings about text that cannot be used; see Usable.
	Unusable []Problem
}

// What happens to the signatures and other referrers of images.
const (
	CopySignatures   = "copy"
	RemoveSignatures = "remove"
)

// Mirror is what to mirror: at least one operator, image, release, chart or file.
type Mirror struct {
	Platform         *Releases // nil if not set
	Operators        []Operator
	AdditionalImages []Image
	BlockedImages    []Blocked
	Helm             *Helm // nil if not set
	Samples          []Sample
	Files            []File
	// Signatures is CopySignatures or RemoveSignatures; "" means CopySignatures.
	Signatures string
	// MinAge leaves out younger content: an age in whole days ("3d", "2w", "72h"), or "".
	MinAge string
}

// A Sample selects image streams of the samples operator of the platform releases
// (mirror.samples[]). Name may contain * for any text and ? for one character.
type Sample struct {
	Pos  Position
	Name string
}

// An Operator is one catalog and the selection from it (mirror.operators[]). It marshals to the
// JSON form of that entry, without its position; ParseOperator reads it back.
type Operator struct {
	Pos Position
	// Catalog is a registry reference with tag or digest, "oci://DIR" or
	// "dir://DIR".
	Catalog string
	// TargetCatalog and TargetTag replace the repository path and tag of the
	// catalog in the mirror.
	TargetCatalog, TargetTag string
	// TargetCatalogSourceTemplate is the path of a CatalogSource manifest to fill in, as written in
	// the file. A relative path is relative to the working directory, as for oc mirror.
	TargetCatalogSourceTemplate string
	// TargetClusterCatalogTemplate is the path of a ClusterCatalog manifest to fill in, like
	// TargetCatalogSourceTemplate.
	TargetClusterCatalogTemplate string
	// Full selects every bundle of the selected packages and channels instead of the channel heads;
	// without packages, the unchanged catalog. It excludes ranges and bundles.
	Full bool
	// Platforms, if set, limits every multi-platform image of the catalog to these platforms.
	Platforms []Platform
	// PlatformsMode is PlatformsRewrite, PlatformsSparse, or "" for the default.
	PlatformsMode string
	// Packages are distinct by name; empty means all.
	Packages []Package
	// RelatedImages is RelatedImagesComplete to mirror the images that bundles use and do not list, or
	// "" for those that they list.
	RelatedImages string
	// Dependencies adds the operators that the selected ones need, from all catalogs of the
	// configuration.
	Dependencies bool
	// Installed are operators that clusters run: their update paths to the heads are kept.
	Installed []Installed
}

// Installed is an operator that a cluster runs, of a package that is selected.
type Installed struct {
	Pos     Position
	Package string
	// Bundle is its ClusterServiceVersion, such as foo.v1.2.3; Version is the version of it. One of
	// them may be empty.
	Bundle, Version string
	// Channel is the channel that the cluster follows, "" if it may be any.
	Channel string
}

// A Package is one operator package of a catalog. Bundles exclude Range and
// Channels; Range excludes a range on a channel.
type Package struct {
	Pos            Position
	Name           string
	DefaultChannel string // replaces the package's own; empty keeps it
	Range          Range
	Channels       []Channel // distinct by name
	Bundles        []Bundle  // distinct by name
}

// A Channel is one channel of a package, with an optional range of its own.
type Channel struct {
	Pos   Position
	Name  string
	Range Range
}

// A Bundle pins one bundle by name ("foo.v1.2.3").
type Bundle struct {
	Pos  Position
	Name string
}

// A Range is an inclusive range of semantic versions. Either end may be empty (open). Min and Max
// are as written in the file; they parse and are in order.
type Range struct {
	Min, Max string
}

// IsZero reports whether the range is open at both ends.
func (r Range) IsZero() bool { return r.Min == "" && r.Max == "" }

// A Platform selects children of a multi-platform image, in the words of the
// image index: "linux", "amd64".
type Platform struct {
	Pos              Position
	OS, Architecture string
}

// An Image is one entry of mirror.additionalImages.
type Image struct {
	Pos Position
	// Name is a registry reference with tag or digest, or "oci://DIR". With Tags, it has neither tag
	// nor digest.
	Name string
	// Tags selects the tags to mirror; nil if Name has one.
	Tags *TagRule
	// TargetRepo and TargetTag replace repository path and tag in the mirror.
	TargetRepo, TargetTag string
	Platforms             []Platform
	PlatformsMode         string // as in Operator
}

// A Blocked is one entry of mirror.blockedImages: an unanchored regular expression over image
// references. Images that match are not mirrored.
type Blocked struct {
	Pos     Position
	Name    string
	Pattern *regexp.Regexp
}

// BlockedBy returns the pattern of blockedImages that matches an image. Patterns are compared with the reference of the source
// and with the target repository, both without a transport, as oc mirror does.
func BlockedBy(patterns []Blocked, source, target string) (string, bool) {
	for _, p := range patterns {
		if p.Pattern.MatchString(source) || p.Pattern.MatchString(target) {
			return p.Name, true
		}
	}
	return "", false
}
