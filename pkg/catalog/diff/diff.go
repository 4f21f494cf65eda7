// Package diff says what changed between two catalogs.
//
// [Compare] sets two catalogs side by side, package by package, and lists what
// one has and the other has not: packages, channels, bundles, update edges,
// deprecations, and objects of other schemas. What both have is compared member
// by member, as JSON values: white space, the order of members, the layout of
// files and the order of lists make no difference. A difference in a member that
// nobody here has heard of is still one; so an empty [Diff] means that the two
// catalogs say the same.
//
// An edge is what OLM acts on: a bundle that a cluster runs, and an entry that is
// offered to it because it replaces it, skips it, or has a skipRange that holds
// its version. An edge does not end when the bundle that it leads from is taken
// out of the catalog, since clusters go on running it. So a catalog that was
// pruned well lists fewer bundles and has lost only the edges into them.
//
// Everything is sorted, so the same catalogs give the same bytes, and
// exchanging the two catalogs exchanges old and new everywhere and nothing else.
// Objects with the very same text cost one comparison of bytes. A Diff is
// written as JSON for programs and by [Diff.WriteText] for people.
package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Change says in which of two catalogs something is.
type Change string

// What may have happened to a part of a catalog.
const (
	Added   Change = "added"   // only the new catalog has it
	Removed Change = "removed" // only the old catalog has it
	Changed Change = "changed" // both have it, and it differs
)

// A Diff is everything that differs between two catalogs. Lists are sorted by
// package, then by name; none is nil.
type Diff struct {
	Packages []Package `json:"packages"`
	// Channels and Bundles include those of packages that were added or
	// removed.
	Channels []Channel `json:"channels"`
	Bundles  []Bundle  `json:"bundles"`
	// Edges are those of channels that both catalogs have: a channel that was
	// added or removed speaks for itself.
	Edges []Edge `json:"edges"`
	// EdgesOmitted is how many edges more there are than are listed; they are
	// listed up to 100,000.
	EdgesOmitted int           `json:"edgesOmitted,omitempty"`
	Deprecations []Deprecation `json:"deprecations"`
	// Others are objects of schemas that OLM does not know.
	Others []Other `json:"others"`
}

// Text is a text that changed. One side is empty where only one catalog has it.
type Text struct {
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// A Package is a package of which something changed in its olm.package object.
type Package struct {
	Change Change `json:"change"`
	Name   string `json:"name"`
	// DefaultChannel is nil where it is the same in both.
	DefaultChannel *Text `json:"defaultChannel,omitempty"`
	// Members are the other members of the object that differ, such as icon and
	// description. Those of packages that were added or removed are not listed.
	Members []string `json:"members,omitempty"`
}

// A Channel is a channel that differs.
type Channel struct {
	Change  Change `json:"change"`
	Package string `json:"package"`
	Name    string `json:"name"`
	// Head is the entry that no other replaces or skips; several are separated
	// by ", ". It is nil where it is the same in both.
	Head *Text `json:"head,omitempty"`
	// Entries of a channel that was added or removed are all of its entries.
	EntriesAdded   []string `json:"entriesAdded,omitempty"`
	EntriesRemoved []string `json:"entriesRemoved,omitempty"`
	// EntriesChanged have other replaces, skips or skipRange. What that means
	// for clusters stands in Diff.Edges.
	EntriesChanged []string `json:"entriesChanged,omitempty"`
	// Members are the other members of the object that differ.
	Members []string `json:"members,omitempty"`
}

// A Bundle is a bundle that differs.
type Bundle struct {
	Change  Change `json:"change"`
	Package string `json:"package"`
	Name    string `json:"name"`
	// Version is that of the olm.package property, with "-RELEASE" behind it
	// where it has a release. Version and Image are nil where they are the same
	// in both.
	Version *Text `json:"version,omitempty"`
	Image   *Text `json:"image,omitempty"`
	// RelatedImages and Properties are listed for bundles that both have.
	RelatedImages []RelatedImage `json:"relatedImages,omitempty"`
	Properties    []Property     `json:"properties,omitempty"`
	// Members are the other members of the object that differ.
	Members []string `json:"members,omitempty"`
}

// A RelatedImage is an image that only one catalog has in a bundle's list.
type RelatedImage struct {
	Change Change `json:"change"` // Added or Removed
	Name   string `json:"name,omitempty"`
	Image  string `json:"image,omitempty"`
}

// A Property is a type of property whose values differ.
type Property struct {
	Type string `json:"type"`
	// Added and Removed are the values that only one catalog has, as compact
	// JSON; of a value over 512 bytes its size and SHA-256.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// An Edge is an update that only one catalog offers: a cluster that runs From
// and follows the channel is offered To.
type Edge struct {
	Change  Change `json:"change"` // Added or Removed
	Package string `json:"package"`
	Channel string `json:"channel"`
	From    string `json:"from"`
	To      string `json:"to"`
	By      By     `json:"by"`
}

// By is the member of a channel's entry that makes an edge.
type By string

// The members that make edges; of several the first is named.
const (
	ByReplaces  By = "replaces"
	BySkips     By = "skips"
	BySkipRange By = "skipRange"
)

// A Deprecation is a deprecation that differs.
type Deprecation struct {
	Change  Change `json:"change"`
	Package string `json:"package"`
	// Schema and Name are what is deprecated; Name is empty for the package.
	Schema  string `json:"schema"`
	Name    string `json:"name,omitempty"`
	Message Text   `json:"message"`
}

// An Other is an object that is compared by its members alone.
type Other struct {
	Change  Change `json:"change"`
	Schema  string `json:"schema"`
	Package string `json:"package,omitempty"` // "" where it belongs to the whole catalog
	Name    string `json:"name,omitempty"`
	// Members are those that differ, where both catalogs have the object.
	Members []string `json:"members,omitempty"`
}

// Compare lists what differs between two catalogs. Outlines of packages, which
// have no text, are not compared.
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
	slices.SortStableFunc(d.Others, func(a, b Other) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Schema, b.Schema), strings.Compare(a.Name, b.Name))
	})
	return d
}

// Empty reports whether the catalogs say the same.
func (d *Diff) Empty() bool {
	return len(d.Packages)+len(d.Channels)+len(d.Bundles)+len(d.Edges)+d.EdgesOmitted+len(d.Deprecations)+len(d.Others) == 0
}

// A paired is what two lists have under one key; one of the two may be nil.
type paired[T any] struct {
	before, after *T
}

// change says what happened to a pair, if anything did.
func (p paired[T]) change() Change {
	switch {
	case p.before == nil:
		return Added
	case p.after == nil:
		return Removed
	default:
		return Changed
	}
}

// pair brings the elements of two lists together by key, sorted by key. What an
// invalid catalog has twice is paired in the order of the lists.
func pair[T any](before, after []*T, key func(*T) string) []paired[T] {
	indices := make(map[string][]int, max(len(before), len(after)))
	keys := make([]string, 0, len(before))
	pairs := make([]paired[T], 0, len(before))
	for _, b := range before {
		k := key(b)
		indices[k] = append(indices[k], len(pairs))
		pairs, keys = append(pairs, paired[T]{before: b}), append(keys, k)
	}
	for _, a := range after {
		k := key(a)
		if open := indices[k]; len(open) > 0 {
			pairs[open[0]].after = a
			indices[k] = open[1:]
			continue
		}
		pairs, keys = append(pairs, paired[T]{after: a}), append(keys, k)
	}

	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return strings.Compare(keys[i], keys[j]) })
	sorted := make([]paired[T], len(pairs))
	for i, at := range order {
		sorted[i] = pairs[at]
	}
	return sorted
}
