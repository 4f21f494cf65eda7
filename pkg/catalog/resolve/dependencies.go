// Package resolve resolves the dependencies of operators between catalogs.
//
// A bundle declares dependencies in properties: an API (olm.gvk.required), a package in a version
// range (olm.package.required), a label (olm.label.required), or a constraint composed of these
// (olm.constraint: all, any, not, cel). Each is a predicate on a single bundle. OLM classic
// installs a bundle only together with bundles that satisfy its dependencies, so a filtered catalog
// needs those, too. OLM v1 refuses every bundle with dependencies.
//
// [Dependencies] is one round. For each dependency of the kept bundles it reports the kept bundle
// that satisfies it, or the bundle of the original catalogs to add, or why there is none. Added
// bundles may have dependencies of their own, so the caller filters again with the additions and
// repeats until nothing is added. This terminates, because no bundle is added to a channel twice.
//
// The order of preference is OLM's: the catalog of the dependent bundle, then the others by
// priority and name. Within a catalog: default channels, then packages and channels by name. Within
// a channel: from the head down, without skipped entries. As in OLM, no two bundles chosen for the
// same dependent, or the dependent itself, may belong to one package or provide the same API. For
// the same reason, a bundle that provides what it depends on needs no other bundle.
//
// The rules come from operator-lifecycle-manager (pkg/controller/registry/resolver) and
// operator-framework/api (pkg/constraints). Catalogs are untrusted: sizes and costs are limited,
// and a property that cannot be parsed is an unsatisfied dependency with a reason.
package resolve

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Catalog is one of the catalogs of a cluster.
type Catalog struct {
	// Name is the name of its CatalogSource, by which OLM orders catalogs of the same priority. It
	// is unique.
	Name string
	// Priority is spec.priority of its CatalogSource, by default 0.
	Priority int
	// Wanted says that the dependencies of the kept bundles are resolved.
	Wanted bool
	// Kept is the filtered catalog; nil if nothing is kept.
	Kept *catalog.Catalog
	// Original is the unfiltered catalog: its Packages and its Outlines.
	Original *catalog.Catalog
}

// A BundleRef identifies a bundle in a channel. The same bundle may be in other channels, too.
type BundleRef struct {
	Catalog, Package, Channel, Bundle string
}

// A Dependency is a requirement that bundles of a package have in common.
type Dependency struct {
	Catalog, Package string
	Bundles          []string // the dependents, sorted; at least one
	// Requirement completes the sentence "NAME needs ...": `an operator that provides
	// cert-manager.io/v1 Issuer`.
	Requirement string
}

// An Addition is a bundle to add because others depend on it.
type Addition struct {
	BundleRef
	For []Dependency // at least one
}

// A Satisfied dependency is one that another kept bundle satisfies.
type Satisfied struct {
	Dependency
	By BundleRef
}

// An Unsatisfied dependency is one that no bundle satisfies.
type Unsatisfied struct {
	Dependency
	// Reason explains why, which alternatives the catalogs have and what to do. It is a sentence
	// without a full stop.
	Reason string
}

// A Result is what one round found. All lists have a fixed order.
type Result struct {
	Additions   []Addition
	Satisfied   []Satisfied
	Unsatisfied []Unsatisfied
}

// Dependencies resolves the dependencies of the kept bundles of wanted catalogs and of those that
// earlier rounds added to any catalog. added holds the additions of all earlier rounds. The order
// of the catalogs does not matter.
func Dependencies(catalogs []Catalog, added []Addition) Result {
	r := newRound(catalogs, added)
	for _, s := range r.sources {
		if s.Kept == nil {
			continue
		}
		for _, p := range s.Kept.Packages {
			for _, b := range p.Bundles {
				if s.Wanted || r.added[BundleRef{Catalog: s.Name, Package: p.Name, Bundle: b.Name}] {
					r.resolve(s, s.bundle(b))
				}
			}
		}
	}
	return r.result
}

// Dependents names the dependent bundles, at most three: `bundles "a.v1" and "a.v2" of CATALOG`.
func (n Dependency) Dependents() string {
	const most = 3
	quoted := elements.Map(n.Bundles[:min(most, len(n.Bundles))], func(b string) string { return fmt.Sprintf("%q", b) })
	if more := len(n.Bundles) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	word := "bundle"
	if len(n.Bundles) > 1 {
		word = "bundles"
	}
	return fmt.Sprintf("%s %s of %s", word, enumerate(quoted, "and"), n.Catalog)
}

// String returns the dependency as a sentence without a full stop.
func (n Dependency) String() string {
	verb := "needs"
	if len(n.Bundles) > 1 {
		verb = "need"
	}
	return fmt.Sprintf("%s %s %s", n.Dependents(), verb, n.Requirement)
}

// String returns the dependency and the reason why it is not satisfied.
func (u Unsatisfied) String() string {
	return fmt.Sprintf("%s: %s", u.Dependency, u.Reason)
}

// sameAs reports whether two dependencies differ only in their bundles.
func (n Dependency) sameAs(other Dependency) bool {
	return n.Catalog == other.Catalog && n.Package == other.Package && n.Requirement == other.Requirement
}

// byPreference orders catalogs as OLM does: by priority, then name.
func byPreference(a, b *source) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(a.Name, b.Name))
}
