package filter

import (
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Result is a filtered catalog and an account of it. The same catalog and the
// same selection give the same result, notes included.
type Result struct {
	// Catalog shares every object that was not changed with the original: the
	// same *catalog.Meta. A bundle never changes.
	Catalog *catalog.Catalog
	// Unchanged says that the catalog was asked for as it is; Catalog is the
	// original then.
	Unchanged bool
	Packages  []Package // sorted by name
	// Notes are sentences for the user's summary: what was dropped, added or
	// changed beyond what the configuration says. Sorted by package and channel.
	Notes []string
}

// A Package says what was kept of a package.
type Package struct {
	Name           string
	DefaultChannel string
	// ReplacedDefault is the default channel of the original where it is
	// another one, else "".
	ReplacedDefault string
	Channels        []Channel // sorted by name
	Bundles         []Bundle  // sorted by name
}

// A Channel says what was kept of a channel.
type Channel struct {
	Name string
	// Head is the entry that a new install gets, OriginalHead what it was
	// before. Where the original has no single head they are "".
	Head, OriginalHead string
	Entries            []Entry // in the order of the original
}

// An Entry is a bundle that was kept in a channel.
type Entry struct {
	Name   string
	Reason Reason
	// For is the bundle that the entry is kept for, of a Continuity; what is
	// installed, of an Installed; who needs it, of a Dependency; else "".
	For string
}

// A Bundle is a bundle that was kept. It has the reason of the channel that has
// the strongest: in the order Pinned, Head, Range, Full, Installed,
// Dependency, Continuity.
type Bundle struct {
	Name string
	// Version is that of the catalog, "" where it cannot be read.
	Version string
	Reason  Reason
	For     string // as in Entry
}
