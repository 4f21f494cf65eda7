// Package graph reads the update graph of a channel, and follows it as OLM does.
//
// A channel is a list of entries. Each says which bundles it can be reached
// from: the one that it replaces, those that it skips, and those whose version
// lies in its skipRange. So an edge "from n to y" is stored with the successor
// y, and it holds even where n itself is not in the catalog: a cluster that runs
// n finds y all the same. That is why nothing in this house ever rewrites the
// edges of an entry that it keeps.
//
// [Inspect] gives the shape that operator-registry's `opm validate` sees in a
// channel: exactly one head, a chain of replaces below it, and every other entry
// skipped by somebody. It takes no part in judging; pkg/catalog/validate turns a
// shape into findings, and pkg/catalog/filter grows a selection until its shape
// is whole. [Edge] is the edge fact that both generations of OLM resolve by.
//
// What a cluster makes of these edges depends on the generation. OLM classic
// follows one channel, from its head down, and never installs a skipped entry.
// OLM v1 takes the highest version that any selected channel leads to, and never
// goes below what it runs. [Updates] is a package as one of them sees it; [Step],
// [Walk] and [Reachable] ask it once.
//
// Everything here is a pure function of the entries. A graph that is broken, as
// by a circle or a skipRange that cannot be read, ends a walk and is no error.
package graph

import (
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A Generation is one of the two that OLM is in.
type Generation int

const (
	// Classic is operator-lifecycle-manager: Subscriptions and
	// ClusterServiceVersions.
	Classic Generation = iota + 1
	// V1 is operator-controller: ClusterExtensions.
	V1
)

// String is "OLM classic" or "OLM v1".
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

// At is what a cluster runs: the name of the bundle, for OLM classic the
// ClusterServiceVersion, and its version. Neither needs to be in the catalog. A
// bundle of which only the version is known has no name, and is led on by
// skipRanges alone.
type At struct {
	Name    string
	Version semver.Version
	// Release is the release beside the version, mostly "": the field of the
	// olm.package property. OLM v1 takes build metadata of the version for a
	// release where there is no other.
	Release string
}

// Running is a cluster that runs the bundle.
func Running(b *catalog.Bundle) At {
	return At{Name: b.Name, Version: b.Version, Release: b.Release}
}

// A View is how a cluster looks at a package.
type View struct {
	Generation Generation
	// Channels are those that the cluster follows; none, or "", is all of them.
	// A Subscription follows one, a ClusterExtension any number.
	Channels []string
	// Accept says which bundles may be installed, as a range of versions or a
	// dependency that is not met decides; nil accepts all. OLM v1 asks it of
	// the installed bundle, too, before it stays where it is.
	Accept func(*catalog.Bundle) bool
}

// follows reports whether the view takes in a channel.
func (v View) follows(channel string) bool {
	return len(v.Channels) == 0 || slices.Contains(v.Channels, channel) || slices.Contains(v.Channels, "")
}

// A Hop is one update, from bundle to bundle, by the edge of a channel. From is
// At.Name, and may be empty as that.
type Hop struct {
	Channel, From, To string
	Edge              EdgeKind
}
