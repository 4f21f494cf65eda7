// Package catalog reads and writes file-based catalogs: what an operator catalog
// says about packages, their channels and their bundles.
//
// A catalog is a folder of JSON and YAML files whose layout has no meaning. Every
// object in them says of itself what it is: a schema, a package and a name. That
// identity and the object's text are a [Meta]; the text is never rewritten on the
// way through, so that fields nobody here has heard of, large numbers and the
// order of keys survive. [New] gives metas their meaning, a [Catalog] of
// packages, as they were found and not as they should be: whether OLM takes it
// is for package validate to say.
//
// [Read] reads a folder. A [Reader] takes files one by one as they come out of an
// image's layers, and both drop what [Options] do not want while they read, so
// that a few packages of a large index cost little memory. [Stream] gives every
// object to a function and holds none. [Files] lays a catalog
// out for writing; what is written is read back as the same catalog, byte for
// byte. [Meta.With] and [Meta.KeepElements] change one member of an object and
// leave the rest of its text alone.
//
// The grammar is that of operator-registry (alpha/declcfg).
package catalog

import (
	"github.com/blang/semver/v4"
)

// A Catalog is a file-based catalog, or the part of one that was asked for.
// It is immutable once read.
type Catalog struct {
	// Packages are sorted by name.
	Packages []*Package
	// Others are the objects that belong to no package, in reading order
	// (sorted by file, then position).
	Others []*Meta
	// Outlines are the packages that the reader was told to leave out, sorted by
	// name, if [Options.Outline] asked for them: enough to find out which of
	// their bundles another one needs, at about a kilobyte a bundle. Of a
	// package there are the channels, whole, and of each bundle the version and
	// the properties that dependencies may be about: all but manifests
	// (olm.csv.metadata, olm.bundle.object). There are no images, no
	// deprecations and no objects of other schemas, and Meta.Raw is nil.
	Outlines []*Package
	// Names are the names of all packages that were seen, sorted, including
	// those that the reader was told to leave out.
	Names []string
}

// A Package is everything of one package, as it was found: what a valid
// catalog has once may stand here twice or not at all, so that a validator can
// say so.
type Package struct {
	Name string
	// Metas are the olm.package objects; exactly one in a valid catalog.
	Metas []*Meta
	// DefaultChannel is that of the first olm.package object.
	DefaultChannel string
	Channels       []*Channel // sorted by name, then position
	Bundles        []*Bundle  // sorted by name, then position
	// Deprecations are the olm.deprecations objects; at most one in a valid
	// catalog.
	Deprecations []*Deprecations
	// Others are the objects of schemas that OLM does not know, sorted by
	// schema, then name, then position.
	Others []*Meta
}

// A Channel is an olm.channel.
type Channel struct {
	Meta    *Meta
	Package string
	Name    string
	Entries []Entry // in the order of the file
}

// An Entry is one bundle's place in a channel, with the update edges that lead
// into it. The names in Replaces and Skips need not exist.
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
	// Version is that of the olm.package property. VersionErr says why there
	// is none.
	Version    semver.Version
	VersionErr error
	// Release is the release field of the olm.package property, mostly "".
	Release       string
	Properties    []Property // in the order of the file
	RelatedImages []RelatedImage
}

// A Property is one typed statement of a bundle. Value is its JSON text, a part
// of the bundle's Meta.Raw; callers do not write to it.
type Property struct {
	Type  string
	Value []byte
}

// A RelatedImage is an image that a bundle's operator may run. Both fields may
// be empty in real catalogs.
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

// Package returns the package of that name, or nil.
func (c *Catalog) Package(name string) *Package {
	for _, p := range c.Packages {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Channel returns the first channel of that name, or nil.
func (p *Package) Channel(name string) *Channel {
	for _, c := range p.Channels {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Bundle returns the first bundle of that name, or nil.
func (p *Package) Bundle(name string) *Bundle {
	for _, b := range p.Bundles {
		if b.Name == name {
			return b
		}
	}
	return nil
}
