// Package catalog reads and writes file-based catalogs: the packages, channels and bundles of an
// operator catalog.
//
// A catalog is a folder of JSON and YAML files whose layout has no meaning. Each object in them has
// a schema, a package and a name. This identity and the object's text are a [Meta]. The text is
// never rewritten, so unknown fields, large numbers and the order of keys survive. [New] decodes
// metas into a [Catalog] of packages. It keeps what it finds, even if that is invalid: package
// validate checks whether OLM accepts it.
//
// [Read] reads a folder. A [Reader] takes files one by one, as they come out of the layers of an
// image. Both drop what [Options] exclude while they read, so that a few packages of a large index
// need little memory. [Stream] passes every object to a function and keeps none. [Files] lays a
// catalog out for writing; reading the result gives the same catalog, byte for byte. [Meta.With]
// and [Meta.KeepElements] change one member of an object and leave the rest of its text unchanged.
//
// The format is the one of operator-registry (alpha/declcfg).
package catalog

import (
	"github.com/blang/semver/v4"
)

// A Catalog is a file-based catalog, or the requested part of one. It does not change after it was
// read.
type Catalog struct {
	// Packages are sorted by name.
	Packages []*Package
	// Others are the objects that belong to no package, in reading order (sorted by file, then
	// position).
	Others []*Meta
	// Outlines are the packages that [Options.Keep] excludes, sorted by name, if [Options.Outline]
	// is set. They are enough to find out which of their bundles another bundle requires, at about
	// a kilobyte per bundle: the complete channels and, of each bundle, the version and the
	// properties that dependencies may refer to, which are all except manifests (olm.csv.metadata,
	// olm.bundle.object). There are no images, no deprecations and no objects of other schemas, and
	// Meta.Raw is nil.
	Outlines []*Package
	// Names are the names of all packages in the files, sorted, including those that [Options.Keep]
	// excludes.
	Names []string
}

// A Package has all objects of one package as they were found: objects that a valid catalog has
// exactly once may be missing or duplicated, so that a validator can report it.
type Package struct {
	Name string
	// Metas are the olm.package objects; exactly one in a valid catalog.
	Metas []*Meta
	// DefaultChannel is the one of the first olm.package object.
	DefaultChannel string
	Channels       []*Channel // sorted by name, then position
	Bundles        []*Bundle  // sorted by name, then position
	// Deprecations are the olm.deprecations objects; at most one in a valid
	// catalog.
	Deprecations []*Deprecations
	// Others are the objects of schemas that OLM does not know, sorted by schema, then name, then
	// position.
	Others []*Meta
}

// A Channel is an olm.channel.
type Channel struct {
	Meta    *Meta
	Package string
	Name    string
	Entries []Entry // in the order of the file
}

// An Entry is a channel entry: a bundle's name with the update edges that lead to it. The bundles
// in Replaces and Skips need not exist.
type Entry struct {
	Name      string
	Replaces  string
	Skips     []string
	SkipRange string
}

// A Bundle is an olm.bundle.
type Bundle struct {
	Meta    *Meta
	Package string
	Name    string
	Image   string
	// Version is the version in the olm.package property. VersionErr is the reason if it cannot be
	// read.
	Version    semver.Version
	VersionErr error
	// Release is the release field of the olm.package property, usually "".
	Release       string
	Properties    []Property // in the order of the file
	RelatedImages []RelatedImage
}

// A Property is a typed property of a bundle. Value is its JSON text, a slice of the bundle's
// Meta.Raw; callers must not modify it.
type Property struct {
	Type  string
	Value []byte
}

// A RelatedImage is an image that a bundle's operator may run. Both fields may be empty in real
// catalogs.
type RelatedImage struct {
	Name, Image string
}

// Deprecations is an olm.deprecations.
type Deprecations struct {
	Meta    *Meta
	Package string
	Entries []Deprecation
}

// A Deprecation marks a package, channel or bundle as deprecated.
type Deprecation struct {
	Schema  string // what is deprecated: olm.package, olm.channel or olm.bundle
	Name    string // its name; "" for the package
	Message string
}

// Package returns the package with the name, or nil.
func (c *Catalog) Package(name string) *Package {
	for _, p := range c.Packages {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Channel returns the first channel with the name, or nil.
func (p *Package) Channel(name string) *Channel {
	for _, c := range p.Channels {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Bundle returns the first bundle with the name, or nil.
func (p *Package) Bundle(name string) *Bundle {
	for _, b := range p.Bundles {
		if b.Name == name {
			return b
		}
	}
	return nil
}
