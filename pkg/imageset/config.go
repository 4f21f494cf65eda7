// Package imageset reads the configuration: what is to be mirrored.
//
// The format is oc mirror's ImageSetConfiguration, mirror.openshift.io/v2alpha1.
// Text (YAML, or JSON, which is YAML) goes in; a Config comes out that needs no
// further checks of its own fields, or an *Error with everything that is wrong
// with the file, each Problem with its place and what to do about it.
//
// Reading is strict. Every field is known or refused, with the name that was
// probably meant; a field that oc mirror acts on and Gantry does not act on yet
// is refused as well, since content that was asked for and silently left out is
// found on the far side of the air gap. Whether packages, channels, files and
// images exist is not decided here: reading touches no disk but the file.
//
// One table (format.go) describes the format. It is what decodes and encodes
// the types, what suggestions are drawn from, and what the JSON Schema is made
// of, so that these cannot come to differ.
package imageset

import (
	"regexp"
)

// APIVersion and Kind are what an ImageSetConfiguration says of itself.
const (
	APIVersion = "mirror.openshift.io/v2alpha1"
	Kind       = "ImageSetConfiguration"
)

// A Config is one ImageSetConfiguration. It has been validated: what Load
// returns needs no further checks of its own fields. It marshals to JSON as
// Parse reads it.
type Config struct {
	Pos Position
	// ArchiveSize is the limit of one archive volume in GiB; 0 where the file
	// does not say. In bytes it fits an int64.
	ArchiveSize int64
	Mirror      Mirror
}

// Mirror says what is brought across: at least one operator, image or release.
type Mirror struct {
	Platform         *Releases // nil where there is none
	Operators        []Operator
	AdditionalImages []Image
	BlockedImages    []Blocked
}

// An Operator is one catalog and what is taken of it (mirror.operators[]). It
// marshals to the JSON form of that entry, without its position; ParseOperator
// reads it back.
type Operator struct {
	Pos Position
	// Catalog is a registry reference with tag or digest, "oci://DIR" or
	// "dir://DIR".
	Catalog string
	// TargetCatalog and TargetTag replace the repository path and tag of the
	// catalog in the mirror.
	TargetCatalog, TargetTag string
	// TargetCatalogSourceTemplate is the path of a CatalogSource manifest to
	// fill in, as the file has it; a relative one is relative to the working
	// directory, as for oc mirror.
	TargetCatalogSourceTemplate string
	// Full takes every bundle of the chosen packages and channels instead of
	// the channel heads; without packages, the catalog as it is. It excludes
	// ranges and bundles.
	Full bool
	// Platforms, where set, thins out every multi-platform image of the
	// catalog to these.
	Platforms []Platform
	// Packages are distinct by name; none means all.
	Packages []Package
	// Dependencies adds the operators that the chosen ones need, from all
	// catalogs of the configuration.
	Dependencies bool
	// Installed is what clusters run: their way to the heads is kept.
	Installed []Installed
}

// Installed is an operator that a cluster runs, of a package that is selected.
type Installed struct {
	Pos     Position
	Package string
	// Bundle is its ClusterServiceVersion, such as foo.v1.2.3; Version is what
	// that says of itself. One of them may be empty.
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

// A Range is an inclusive range of semantic versions, either end of which may
// be empty (open). Min and Max are the strings of the file; they have been
// checked to parse and to be in order.
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
	// Name is a registry reference with tag or digest, or "oci://DIR".
	Name string
	// TargetRepo and TargetTag replace repository path and tag in the mirror.
	TargetRepo, TargetTag string
	Platforms             []Platform
}

// A Blocked is one entry of mirror.blockedImages: an unanchored regular
// expression over image references. Images that match are left out.
type Blocked struct {
	Pos     Position
	Name    string
	Pattern *regexp.Regexp
}
