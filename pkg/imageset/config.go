package imageset

import (
	"fmt"
	"regexp"
)

// APIVersion and Kind are what an ImageSetConfiguration says of itself.
const (
	APIVersion = "mirror.openshift.io/v2alpha1"
	Kind       = "ImageSetConfiguration"
)

// A Position is a place in a configuration file. Line and Column count from 1;
// 0 means unknown.
type Position struct {
	File         string
	Line, Column int
}

// String is "imageset.yaml:12", as compilers write it.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// A Config is one ImageSetConfiguration. It has been validated: what Load
// returns needs no further checks of its own fields.
type Config struct {
	Pos Position
	// ArchiveSize is the limit of one archive volume in GiB; 0 where the file
	// does not say.
	ArchiveSize int64
	Mirror      Mirror
}

// Mirror says what is brought across.
type Mirror struct {
	Operators        []Operator
	AdditionalImages []Image
	BlockedImages    []Blocked
}

// An Operator is one catalog and what is taken of it (mirror.operators[]).
type Operator struct {
	Pos Position
	// Catalog is a registry reference, "oci://DIR" or "dir://DIR".
	Catalog string
	// TargetCatalog and TargetTag replace the repository path and tag of the
	// catalog in the mirror.
	TargetCatalog, TargetTag string
	// TargetCatalogSourceTemplate is the path of a CatalogSource manifest to
	// fill in, as the file has it; a relative one is relative to the working
	// directory, as for oc mirror.
	TargetCatalogSourceTemplate string
	// Full takes every bundle of the chosen packages and channels instead of
	// the channel heads; without packages, the catalog as it is.
	Full bool
	// Platforms, where set, thins out every multi-platform image of the
	// catalog to these.
	Platforms []Platform
	Packages  []Package
}

// A Package is one operator package of a catalog.
type Package struct {
	Pos            Position
	Name           string
	DefaultChannel string // replaces the package's own; empty keeps it
	Range          Range
	Channels       []Channel
	Bundles        []Bundle
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

// A Platform selects children of a multi-platform image.
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
