// Package resolve finds what operators need of each other, and who gives it.
//
// A bundle says what it needs in properties: an API (olm.gvk.required), a package
// in a version range (olm.package.required), a label (olm.label.required), or a
// constraint put together from these (olm.constraint: all, any, not, cel). Each is
// a predicate on one bundle. OLM classic installs the bundle only together with
// bundles that meet its predicates, so a catalog that was cut down needs those,
// too; OLM v1 installs no bundle that has any.
//
// [Needs] is one round: it goes through what the kept catalogs hold, and says of
// every predicate that a kept bundle meets it, which bundle of the whole catalogs
// is to be added for it, or that nobody gives it. Additions ask in their turn, so
// the caller filters again with them and asks again until nothing is added. That
// comes to an end, since no bundle is added to a channel twice.
//
// The order of preference is OLM's: the catalog of the bundle that asks, then the
// others by priority and name; in a catalog default channels, then packages and
// channels by name; in a channel from the head down, without entries that are
// skipped. And as in OLM no two bundles chosen for one that asks, nor itself, may
// be of one package or give the same API: what would not be installed together is
// not chosen together. That is also why a bundle that gives what it needs itself
// needs nobody else for it.
//
// The source is operator-lifecycle-manager (pkg/controller/registry/resolver) and
// operator-framework/api (pkg/constraints). Catalogs are what others wrote: sizes
// and costs are limited, and what cannot be read is an unmet need, with its reason.
package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Catalog is one of those that a cluster is to have.
type Catalog struct {
	// Name is that of its CatalogSource, by which OLM orders catalogs of one
	// priority. Each has its own.
	Name string
	// Priority is spec.priority of its CatalogSource, 0 unless set.
	Priority int
	// Wanted says that what the kept bundles need is to be kept.
	Wanted bool
	// Kept is what is left of the catalog; nil is nothing.
	Kept *catalog.Catalog
	// Whole is the catalog as it was found: its Packages and its Outlines.
	Whole *catalog.Catalog
}

// A Place is where a bundle stands. The same bundle may stand in other channels.
type Place struct {
	Catalog, Package, Channel, Bundle string
}

// A Need is one thing that bundles of a package ask for.
type Need struct {
	Catalog, Package string
	Bundles          []string // who ask, sorted; at least one
	// Wants is what they ask for, as the end of "NAME needs": `an operator that
	// provides cert-manager.io/v1 Issuer`.
	Wants string
}

// An Addition is a bundle that is to be kept because others need it.
type Addition struct {
	Place
	For []Need // at least one
}

// Met is a need that a kept bundle meets, which is not the one that asks.
type Met struct {
	Need
	By Place
}

// Unmet is a need that no bundle meets.
type Unmet struct {
	Need
	// Reason says why, and what there is instead, as a sentence without a full
	// stop.
	Reason string
}

// A Result is what one round found. All lists are in a fixed order.
type Result struct {
	Additions []Addition
	Met       []Met
	Unmet     []Unmet
}

// Needs goes through the needs of the kept bundles of wanted catalogs, and of
// those that earlier rounds added, in whatever catalog they stand. added is what
// all earlier rounds gave. The order of the catalogs does not matter.
func Needs(catalogs []Catalog, added []Addition) Result {
	r := newRound(catalogs, added)
	for _, s := range r.sources {
		if s.Kept == nil {
			continue
		}
		for _, p := range s.Kept.Packages {
			for _, b := range p.Bundles {
				if s.Wanted || r.added[Place{Catalog: s.Name, Package: p.Name, Bundle: b.Name}] {
					r.ask(s, s.bundle(b))
				}
			}
		}
	}
	return r.result
}

// Asker is who asks, for people: `bundles "a.v1" and "a.v2" of CATALOG`.
func (n Need) Asker() string {
	const most = 3
	var quoted []string
	for _, b := range n.Bundles[:min(most, len(n.Bundles))] {
		quoted = append(quoted, fmt.Sprintf("%q", b))
	}
	if more := len(n.Bundles) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	word := "bundle"
	if len(n.Bundles) > 1 {
		word = "bundles"
	}
	return fmt.Sprintf("%s %s of %s", word, enumerate(quoted, "and"), n.Catalog)
}

// String is the need as a sentence without a full stop.
func (n Need) String() string {
	verb := "needs"
	if len(n.Bundles) > 1 {
		verb = "need"
	}
	return fmt.Sprintf("%s %s %s", n.Asker(), verb, n.Wants)
}

// String says who needs what, why nobody gives it, and what to do.
func (u Unmet) String() string {
	return fmt.Sprintf("%s: %s", u.Need, u.Reason)
}

// same reports whether two needs differ in nothing but the bundles that ask.
func (n Need) same(other Need) bool {
	return n.Catalog == other.Catalog && n.Package == other.Package && n.Wants == other.Wants
}

// join adds a need to a list, as one more bundle where its package has it there.
func join(needs []Need, n Need) []Need {
	for i := range needs {
		if needs[i].same(n) {
			needs[i].Bundles = slices.Compact(append(needs[i].Bundles, n.Bundles...))
			return needs
		}
	}
	return append(needs, n)
}

// enumerate joins words: "a", "a and b", "a, b and c".
func enumerate(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
}

// byPreference orders catalogs as OLM does: by priority, then name.
func byPreference(a, b *source) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(a.Name, b.Name))
}
