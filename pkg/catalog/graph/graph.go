// Package graph reads the update graph of a channel, and follows it as OLM does.
//
// A channel is a list of entries. Each lists the bundles from which clusters can update to it: the
// one that it replaces, those that it skips, and those whose version is in its skipRange. So an
// edge "from n to y" is stored with the successor y, and it applies even if n itself is not in the
// catalog: a cluster that runs n still finds y. That is why Gantry never rewrites the edges of an
// entry that it keeps.
//
// [Inspect] returns the shape of a channel as `opm validate` of operator-registry sees it: exactly
// one head, a chain of replaces below it, and every other entry skipped by another one. It does not
// judge: pkg/catalog/validate reports problems of the shape, and pkg/catalog/filter adds entries to
// a selection until its shape is valid. [Edge] is the relation that both generations of OLM resolve
// by.
//
// How a cluster follows these edges depends on the generation. OLM classic follows one channel,
// from its head down, and never installs a skipped entry. OLM v1 installs the highest version that
// any selected channel leads to, and never a version below the installed one. [Updates] is a
// package as one of them sees it; [Step], [Walk] and [Reachable] are shortcuts for a single query.
//
// All functions are pure functions of the entries. A broken graph, such as one with a cycle or an
// unreadable skipRange, ends a walk and is not an error.
package graph

import (
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Generation is one of the two generations of OLM.
type Generation int

const (
	// Classic is operator-lifecycle-manager: Subscriptions and
	// ClusterServiceVersions.
	Classic Generation = iota + 1
	// V1 is operator-controller: ClusterExtensions.
	V1
)

// String returns "OLM classic" or "OLM v1".
func (g Generation) String() string {
	switch g {
	case Classic:
		return "OLM classic"
	case V1:
		return "OLM v1"
	default:
		return "no generation of OLM"
	}
}

// At is what a cluster runs: the name of the bundle, which is the ClusterServiceVersion in OLM
// classic, and its version. Neither needs to be in the catalog. If only the version is known, the
// name is empty, and only skipRanges lead to updates.
type At struct {
	Name    string
	Version semver.Version
	// Release is the release field of the olm.package property, usually "". If it is empty, OLM v1
	// uses the build metadata of the version.
	Release string
}

// Running returns a cluster that runs the bundle.
func Running(b *catalog.Bundle) At {
	return At{Name: b.Name, Version: b.Version, Release: b.Release}
}

// A View selects what a cluster sees of a package.
type View struct {
	Generation Generation
	// Channels are the channels that the cluster follows; none, or "", means all. A Subscription
	// follows one, a ClusterExtension any number.
	Channels []string
	// Accept reports whether a bundle may be installed, for example because of a range of versions
	// or an unmet dependency; nil accepts all. OLM v1 also applies it to the installed bundle
	// before it stays there.
	Accept func(*catalog.Bundle) bool
}

// follows reports whether the view includes a channel.
func (v View) follows(channel string) bool {
	return len(v.Channels) == 0 || slices.Contains(v.Channels, channel) || slices.Contains(v.Channels, "")
}

// A Hop is one update from bundle to bundle, by an edge of a channel. From is At.Name, so it may be
// empty.
type Hop struct {
	Channel, From, To string
	Edge              EdgeKind
}
