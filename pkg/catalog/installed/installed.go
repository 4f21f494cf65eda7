// Package installed reads what clusters run: which operators, at which version,
// and which channel they follow, and which release of the platform.
//
// What goes in is what `oc get csv -A -o json`, `oc get subscription -A -o json`,
// `oc get clusterextension -o json` and `oc get clusterversion -o json` print, or
// the same as YAML: lists of one or several kinds, single objects, several
// documents in a file. What comes out is a list of [Operator], one for each operator
// of each generation of OLM, so that the paths from there can be kept in a mirror
// (pkg/catalog/filter) and judged before anything is carried across
// (pkg/catalog/upgrade), and one of [ClusterVersion], for the paths between releases
// (package plan).
//
// A ClusterServiceVersion says what runs, a Subscription which channel it
// follows; where both are there they become one Operator. Objects that say
// nothing of their own are passed over: copies of a ClusterServiceVersion that
// OLM spreads over namespaces, one that its successor is just replacing, a
// Subscription or ClusterExtension that has nothing installed yet, and the
// packageserver that comes with the platform. An input of which nothing is left
// is an error: the wrong file, mostly.
//
// Input is limited in size, and JSON, which is what large clusters print, is
// read object by object.
package installed

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// An Operator is one operator that a cluster runs.
type Operator struct {
	// Generation says who installed it: OLM classic or OLM v1.
	Generation graph.Generation
	// Name is that of the object it was read from: the ClusterServiceVersion,
	// else the Subscription, or the ClusterExtension.
	Name string
	// Namespace is where a classic operator is installed; ClusterExtensions have
	// none.
	Namespace string
	// Package is "" where the object does not tell it; Notes says so.
	Package string
	// Bundle is the name of the installed bundle, for OLM classic that of its
	// ClusterServiceVersion.
	Bundle string
	// Version is what the installed bundle says of itself, "" if only a
	// Subscription is known.
	Version string
	// Release is its release beside the version, of bundles that have one.
	Release string
	// Channels are those that updates may come from, sorted; none means that
	// every channel may be (OLM v1) or that it is not known (OLM classic).
	Channels []string
	// Catalog is the CatalogSource that a Subscription names, as
	// namespace/name; "" if it is not known, as for OLM v1.
	Catalog string
	// Range is the spec.source.catalog.version of a ClusterExtension: the
	// versions that it may be updated to. "" is any.
	Range string
	// SelfCertified says that a ClusterExtension is updated without regard to
	// the edges of the catalog (upgradeConstraintPolicy).
	SelfCertified bool
	// MaxOpenShift is the olm.maxOpenShiftVersion of the installed bundle, as
	// its ClusterServiceVersion repeats it; "" if it does not.
	MaxOpenShift string
	// APIs are what the installed bundle provides, as its ClusterServiceVersion
	// lists them, sorted.
	APIs []API
	// Origin is the object for messages: "FILE: ClusterServiceVersion NS/NAME".
	Origin string
	// Notes are sentences about what is peculiar: a failed install, a package
	// that is not known.
	Notes []string

	file string // the input that it was read from
}

// An API is a version of a kind that custom resources may have.
type API struct {
	Group, Version, Kind string
}

// Entry is the operator as mirror.operators[].installed of a configuration has
// it, so that the way from there is kept. Its position names the file that it
// was read from.
func (o Operator) Entry() imageset.Installed {
	e := imageset.Installed{
		Pos:     imageset.Position{File: o.file},
		Package: o.Package,
		Bundle:  o.Bundle,
		Version: o.Version,
	}
	if len(o.Channels) == 1 {
		e.Channel = o.Channels[0]
	}
	return e
}

// In is the operator with its package, where another source than the cluster tells
// it: without the note that it is not known.
func (o Operator) In(pkg string) Operator {
	o.Package = pkg
	o.Notes = without(o.Notes, notePackage)
	return o
}

// Merge makes one list of what several inputs say: a ClusterServiceVersion of
// one and the Subscription of another that installed it become one Operator,
// and what is said twice stands once. Operators of several clusters stay apart
// where they differ. It is sorted by package, namespace, bundle, generation and
// name.
func Merge(lists ...[]Operator) []Operator {
	type key struct {
		generation              graph.Generation
		namespace, bundle, name string
	}
	of := func(o Operator) key {
		k := key{generation: o.Generation, namespace: o.Namespace, bundle: o.Bundle}
		if o.Generation == graph.V1 {
			k.name = o.Name
		}
		return k
	}
	at := map[key][]int{}
	var all []Operator
next:
	for _, o := range slices.Concat(lists...) {
		k := of(o)
		for _, i := range at[k] {
			if !conflict(all[i], o) {
				all[i] = join(all[i], o)
				continue next
			}
		}
		at[k] = append(at[k], len(all))
		all = append(all, o)
	}
	for i, o := range all {
		for _, j := range at[of(o)] {
			if o.Version == "" && all[j].Package == o.Package {
				all[i].Version, all[i].Release = all[j].Version, all[j].Release
				all[i].MaxOpenShift, all[i].APIs = all[j].MaxOpenShift, all[j].APIs
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Operator) int {
		return cmp.Or(
			cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Bundle, b.Bundle),
			cmp.Compare(a.Generation, b.Generation),
			cmp.Compare(a.Name, b.Name),
			slices.Compare(a.Channels, b.Channels),
			cmp.Compare(a.Range, b.Range),
			cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Origin, b.Origin),
		)
	})
	return all
}

// conflict reports whether two operators of one name cannot be the same one.
func conflict(a, b Operator) bool {
	differ := func(x, y string) bool { return x != y && x != "" && y != "" }
	return differ(a.Package, b.Package) || differ(a.Version, b.Version) || differ(a.Release, b.Release) || differ(a.Catalog, b.Catalog) ||
		a.Generation == graph.V1 && (a.Range != b.Range || a.SelfCertified != b.SelfCertified) ||
		a.Generation == graph.V1 && !slices.Equal(a.Channels, b.Channels) ||
		len(a.Channels) > 0 && len(b.Channels) > 0 && !slices.Equal(a.Channels, b.Channels)
}

// join is what two objects say of one operator. The ClusterServiceVersion, which
// knows the version, gives the name.
func join(a, b Operator) Operator {
	if a.Version == "" && b.Version != "" {
		a, b = b, a
	}
	if a.Package == "" && b.Package != "" {
		a.Package = b.Package
		a.Notes = without(a.Notes, notePackage)
	}
	if b.Package == "" && a.Package != "" {
		b.Notes = without(b.Notes, notePackage)
	}
	if len(a.Channels) == 0 {
		a.Channels = b.Channels
	}
	a.Catalog = cmp.Or(a.Catalog, b.Catalog)
	a.Release = cmp.Or(a.Release, b.Release)
	a.MaxOpenShift = cmp.Or(a.MaxOpenShift, b.MaxOpenShift)
	if len(a.APIs) == 0 {
		a.APIs = b.APIs
	}
	for _, note := range b.Notes {
		if !slices.Contains(a.Notes, note) {
			a.Notes = append(slices.Clip(a.Notes), note)
		}
	}
	return a
}

func without(notes []string, note string) []string {
	return slices.DeleteFunc(slices.Clone(notes), func(n string) bool { return n == note })
}
