// Package installed reads what clusters run: the operators with their versions and channels, and
// the release of the platform.
//
// The input is the output of `oc get csv -A -o json`, `oc get subscription -A -o json`, `oc get
// clusterextension -o json` and `oc get clusterversion -o json`, or the same as YAML: lists of one
// or several kinds, single objects, or several documents in one file. The output is a list of
// [Operator] values, one for each operator of each generation of OLM, and a list of
// [ClusterVersion] values. From these, upgrade paths are kept in a mirror (pkg/catalog/filter),
// checked before content crosses the air gap (pkg/catalog/upgrade), and planned between releases
// (package plan). OperatorConditions and ClusterOperators add what keeps them from being updated, as
// [Condition] values.
//
// A ClusterServiceVersion has the installed bundle, a Subscription the channel that it follows; if
// both are present, they become one Operator. Objects without information of their own are ignored:
// the copies of a ClusterServiceVersion in other namespaces, one that its successor is replacing, a
// Subscription or ClusterExtension without an installed bundle, and the packageserver of the
// platform. If nothing remains, Read returns an error, since the input is most likely the wrong
// file.
//
// The size of the input is limited. JSON, the format for large clusters, is read object by object.
package installed

import (
	"cmp"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// An Operator is one operator that a cluster runs.
type Operator struct {
	// Generation is the OLM that installed it: OLM classic or OLM v1.
	Generation graph.Generation
	// Name is the name of its object: the ClusterServiceVersion, else the Subscription, or the
	// ClusterExtension.
	Name string
	// Namespace is the namespace of an operator of OLM classic; "" for ClusterExtensions.
	Namespace string
	// Package is "" if the object does not name it; then there is a note.
	Package string
	// Bundle is the name of the installed bundle, for OLM classic the name of its
	// ClusterServiceVersion.
	Bundle string
	// Version is the version of the installed bundle, "" if only a Subscription is known.
	Version string
	// Release is the release in addition to the version, if the bundle has one.
	Release string
	// Channels are the channels of updates, sorted. If empty, all channels are allowed (OLM v1) or
	// the channel is unknown (OLM classic).
	Channels []string
	// Catalog is the CatalogSource of the Subscription, as namespace/name; "" if unknown and for
	// OLM v1.
	Catalog string
	// ClusterCatalog is the only ClusterCatalog that a ClusterExtension may be updated from; "" if it
	// may be any, and for OLM classic.
	ClusterCatalog string
	// Range is spec.source.catalog.version of a ClusterExtension: the versions to which it may be
	// updated. "" is any.
	Range string
	// SelfCertified says that a ClusterExtension is updated without regard to the edges of the
	// catalog (upgradeConstraintPolicy).
	SelfCertified bool
	// MaxOpenShift is the olm.maxOpenShiftVersion of the installed bundle according to its
	// ClusterServiceVersion, or "".
	MaxOpenShift string
	// APIs are the APIs that the installed bundle provides according to its ClusterServiceVersion,
	// sorted.
	APIs []API
	// Images are the images that the installed bundle lists or runs according to its
	// ClusterServiceVersion, sorted.
	Images []string
	// Origin names the object in messages: "FILE: ClusterServiceVersion NS/NAME".
	Origin string
	// Notes are sentences about problems: a failed installation, an unknown package.
	Notes []string

	file string // name of the input
}

// An API is a version of a kind of custom resources.
type API struct {
	Group, Version, Kind string
}

// Entry returns the operator as an entry of mirror.operators[].installed in a configuration, which
// keeps its upgrade path. The position names the input file.
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

// In returns the operator with a package from another source than the cluster, without the note
// that the package is unknown.
func (o Operator) In(pkg string) Operator {
	o.Package = pkg
	o.Notes = without(o.Notes, notePackage)
	return o
}

// Merge merges the operators of several inputs: a ClusterServiceVersion and the Subscription that
// installed it become one Operator, and duplicates are removed. Operators of several clusters stay
// separate if they differ. The result is sorted by package, namespace, bundle, generation and name.
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
				all[i].MaxOpenShift, all[i].APIs, all[i].Images = all[j].MaxOpenShift, all[j].APIs, all[j].Images
			}
		}
	}
	elements.Sort(all, func(a, b Operator) int {
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

// conflict reports whether two operators of the same name are different operators.
func conflict(a, b Operator) bool {
	differ := func(x, y string) bool { return x != y && x != "" && y != "" }
	return differ(a.Package, b.Package) || differ(a.Version, b.Version) || differ(a.Release, b.Release) || differ(a.Catalog, b.Catalog) || differ(a.ClusterCatalog, b.ClusterCatalog) ||
		a.Generation == graph.V1 && (a.Range != b.Range || a.SelfCertified != b.SelfCertified) ||
		a.Generation == graph.V1 && !slices.Equal(a.Channels, b.Channels) ||
		len(a.Channels) > 0 && len(b.Channels) > 0 && !slices.Equal(a.Channels, b.Channels)
}

// join merges two objects of one operator. The name comes from the ClusterServiceVersion, which has
// the version.
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
	if len(a.Images) == 0 {
		a.Images = b.Images
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
