package filter

import (
	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Result is a filtered catalog with a summary. The same catalog and selection give the same
// result, notes included.
type Result struct {
	// Catalog shares every unchanged object with the original: the same *catalog.Meta. A bundle
	// never changes.
	Catalog *catalog.Catalog
	// Unchanged is set if the whole catalog is selected. Catalog is the original then.
	Unchanged bool
	Packages  []Package // sorted by name
	// Notes are sentences for the user's summary: what was dropped, added or changed beyond what
	// the configuration says. They are sorted by package and channel.
	Notes []string
}

// A Package summarizes what was kept of a package.
type Package struct {
	Name           string
	DefaultChannel string
	// ReplacedDefault is the original default channel if it was changed, else "".
	ReplacedDefault string
	Channels        []Channel // sorted by name
	Bundles         []Bundle  // sorted by name
}

// A Channel summarizes what was kept of a channel.
type Channel struct {
	Name string
	// Head is the entry that a new installation gets, OriginalHead the one before filtering.
	// OriginalHead is "" if the original has no single head.
	Head, OriginalHead string
	Entries            []Entry // in the order of the original
}

// An Entry is a bundle that was kept in a channel.
type Entry struct {
	Name   string
	Reason Reason
	// For is the bundle that the entry is kept for (Continuity), the installed bundle or version
	// (Installed), or the bundle that needs it (Dependency); else "".
	For string
}

// A Bundle is a bundle that was kept. If it is in several channels, it has the strongest of their
// reasons, in the order Pinned, Head, Range, Full, Installed, Dependency, Continuity.
type Bundle struct {
	Name string
	// Version is the version in the catalog, "" if it cannot be read.
	Version string
	Reason  Reason
	For     string // as in Entry
}
