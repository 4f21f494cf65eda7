// Package diff compares two catalogs.
//
// [Compare] compares two catalogs package by package and lists the packages, channels, bundles,
// update edges, deprecations and objects of other schemas that only one of them has. What both have
// is compared member by member, as JSON values: white space, the order of members, the layout of
// files and the order of lists make no difference. Unknown members are compared, too, so an empty
// [Diff] means that the two catalogs have the same content.
//
// An edge is an update that OLM offers: from a bundle that a cluster runs to an entry that replaces
// it, skips it, or has a skipRange with its version. Edges from a bundle that was removed from the
// catalog remain, since clusters may still run it. So a catalog that was pruned correctly has fewer
// bundles, but has lost only the edges into them.
//
// Everything is sorted: the same catalogs give the same bytes, and exchanging the two catalogs only
// exchanges old and new. Objects with identical text cost one comparison of bytes. A Diff is
// written as JSON for programs and by [Diff.WriteText] for users.
package diff

import (
	"cmp"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Change says which of two catalogs has something.
type Change string

// The changes of a part of a catalog.
const (
	Added   Change = "added"   // only the new catalog has it
	Removed Change = "removed" // only the old catalog has it
	Changed Change = "changed" // both have it, and it differs
)

// A Diff lists everything that differs between two catalogs. Lists are sorted by package, then by
// name; none is nil.
type Diff struct {
	Packages []Package `json:"packages"`
	// Channels and Bundles include those of packages that were added or removed.
	Channels []Channel `json:"channels"`
	Bundles  []Bundle  `json:"bundles"`
	// Edges are those of channels in both catalogs. They are not listed for channels that were
	// added or removed.
	Edges []Edge `json:"edges"`
	// EdgesOmitted is the number of edges beyond the first 100,000, which are not listed.
	EdgesOmitted int           `json:"edgesOmitted,omitempty"`
	Deprecations []Deprecation `json:"deprecations"`
	// Others are objects of schemas that OLM does not know.
	Others []Other `json:"others"`
}

// Text is a changed text. One side is empty if only one catalog has it.
type Text struct {
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// A Package is a package whose olm.package object differs.
type Package struct {
	Change Change `json:"change"`
	Name   string `json:"name"`
	// DefaultChannel is nil if it is the same in both.
	DefaultChannel *Text `json:"defaultChannel,omitempty"`
	// Members are the other members of the object that differ, such as icon and description. They
	// are not listed for packages that were added or removed.
	Members []string `json:"members,omitempty"`
}

// A Channel is a channel that differs.
type Channel struct {
	Change  Change `json:"change"`
	Package string `json:"package"`
	Name    string `json:"name"`
	// Head is the entry that no other replaces or skips; several are separated by ", ". It is nil
	// if it is the same in both.
	Head *Text `json:"head,omitempty"`
	// EntriesAdded and EntriesRemoved of a channel that was added or removed are all its entries.
	EntriesAdded   []string `json:"entriesAdded,omitempty"`
	EntriesRemoved []string `json:"entriesRemoved,omitempty"`
	// EntriesChanged have different replaces, skips or skipRange. Diff.Edges shows what that means
	// for clusters.
	EntriesChanged []string `json:"entriesChanged,omitempty"`
	// Members are the other members of the object that differ.
	Members []string `json:"members,omitempty"`
}

// A Bundle is a bundle that differs.
type Bundle struct {
	Change  Change `json:"change"`
	Package string `json:"package"`
	Name    string `json:"name"`
	// Version is the version of the olm.package property, followed by "-RELEASE" if it has a
	// release. Version and Image are nil if they are the same in both.
	Version *Text `json:"version,omitempty"`
	Image   *Text `json:"image,omitempty"`
	// RelatedImages and Properties are listed for bundles in both catalogs.
	RelatedImages []RelatedImage `json:"relatedImages,omitempty"`
	Properties    []Property     `json:"properties,omitempty"`
	// Members are the other members of the object that differ.
	Members []string `json:"members,omitempty"`
}

// A RelatedImage is a related image of a bundle that only one catalog has.
type RelatedImage struct {
	Change Change `json:"change"` // Added or Removed
	Name   string `json:"name,omitempty"`
	Image  string `json:"image,omitempty"`
}

// A Property is a type of property whose values differ.
type Property struct {
	Type string `json:"type"`
	// Added and Removed are the values that only one catalog has, as compact JSON. For a value of
	// more than 512 bytes, its size and SHA-256.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// An Edge is an update that only one catalog offers: a cluster that runs From and follows the
// channel is offered To.
type Edge struct {
	Change  Change `json:"change"` // Added or Removed
	Package string `json:"package"`
	Channel string `json:"channel"`
	From    string `json:"from"`
	To      string `json:"to"`
	By      By     `json:"by"`
}

// By is the member of a channel entry that makes an edge.
type By string

// The members that make edges; if several do, the first of this list is reported.
const (
	ByReplaces  By = "replaces"
	BySkips     By = "skips"
	BySkipRange By = "skipRange"
)

// A Deprecation is a deprecation that differs.
type Deprecation struct {
	Change  Change `json:"change"`
	Package string `json:"package"`
	// Schema and Name identify what is deprecated; Name is empty for the package.
	Schema  string `json:"schema"`
	Name    string `json:"name,omitempty"`
	Message Text   `json:"message"`
}

// An Other is an object of a schema without meaning for OLM, compared by its members.
type Other struct {
	Change  Change `json:"change"`
	Schema  string `json:"schema"`
	Package string `json:"package,omitempty"` // "" if it belongs to the whole catalog
	Name    string `json:"name,omitempty"`
	// Members are those that differ, if both catalogs have the object.
	Members []string `json:"members,omitempty"`
}

// Compare lists the differences between two catalogs. Outlines of packages, which have no text, are
// not compared.
func Compare(before, after *catalog.Catalog) *Diff {
	d := &Diff{
		Packages: []Package{}, Channels: []Channel{}, Bundles: []Bundle{}, Edges: []Edge{},
		Deprecations: []Deprecation{}, Others: []Other{},
	}
	d.others(before.Others, after.Others)
	name := func(p *catalog.Package) string { return p.Name }
	for _, both := range pair(before.Packages, after.Packages, name) {
		d.pkg(both.before, both.after)
	}
	elements.Sort(d.Others, func(a, b Other) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Schema, b.Schema), strings.Compare(a.Name, b.Name))
	})
	return d
}

// Empty reports whether the catalogs have the same content.
func (d *Diff) Empty() bool {
	return len(d.Packages)+len(d.Channels)+len(d.Bundles)+len(d.Edges)+d.EdgesOmitted+len(d.Deprecations)+len(d.Others) == 0
}
