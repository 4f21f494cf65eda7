// Package upgrade answers for the operators that clusters run: what a mirror
// will do to them.
//
// [Check] takes operators (pkg/catalog/installed) and the catalogs of a mirror, as they
// were filtered and, where it is known, as the publisher has them. For each
// operator it follows the update graph as the generation of OLM that installed it
// does (pkg/catalog/graph): does it get to the head, by which hops, and if not,
// where does it end and what would mend it: bundles that have to be kept, a
// channel or package that was left out, versions to pin hop by hop, or nothing,
// since the publisher himself offers no way.
//
// A way on paper may be closed on a cluster. Every hop says what stands against
// it there: a version of a custom resource that goes, a bundle that needs a newer
// Kubernetes or that OLM v1 refuses, one that needs others which the mirror does
// not have (pkg/catalog/resolve), a bundle that keeps the cluster from its own
// update. Where a catalog does not tell enough to be sure, the block is marked as
// one that only may be.
//
// Everything here is a pure function; the same input gives the same report.
package upgrade

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A Catalog is one catalog of a mirror.
type Catalog struct {
	Name string
	// Kept is what the mirror has. What lies in its Outlines counts where others
	// need it, and is not looked into otherwise.
	Kept *catalog.Catalog
	// Source is the catalog that it was filtered from, at least its outline; nil
	// where that is not known. Without it nothing can be said about what would
	// mend a gap.
	Source *catalog.Catalog
	// CatalogSource is the namespace/name by which Subscriptions of OLM classic get
	// the catalog; "" where that is not known.
	CatalogSource string
}

// Options are what is known of the clusters.
type Options struct {
	// ClusterVersion is the OpenShift version that clusters run or shall be
	// updated to, such as 4.19.3 or 4.19; "" leaves out what depends on it.
	ClusterVersion string
}

// A Report has an answer for every operator, in their order.
type Report struct {
	// ClusterVersion and Kubernetes are what blocks were looked for; "" if that
	// was not asked for or is not known.
	ClusterVersion string   `json:"clusterVersion,omitempty"`
	Kubernetes     string   `json:"kubernetes,omitempty"`
	Operators      []Answer `json:"operators"`
}

// Having are the answers with one of the outcomes.
func (r Report) Having(outcomes ...Outcome) []Answer {
	var all []Answer
	for _, a := range r.Operators {
		if slices.Contains(outcomes, a.Outcome) {
			all = append(all, a)
		}
	}
	return all
}

// An Outcome says how an operator fares. The set is closed.
type Outcome string

const (
	// AtHead: it runs the head already.
	AtHead Outcome = "at-head"
	// Reaches: it gets to the head by itself.
	Reaches Outcome = "reaches"
	// ByHand: it gets to the head if somebody pins the version of the
	// ClusterExtension hop by hop.
	ByHand Outcome = "by-hand"
	// Ahead: it runs, or in OLM v1 gets to, a version that is not older than the
	// head.
	Ahead Outcome = "ahead"
	// Lacking: it gets to the head if another catalog provides what a bundle on the
	// way needs, and neither the mirror nor what is installed provides.
	Lacking Outcome = "lacking"
	// Downgraded: OLM v1 puts a lower version in its place, without regard to edges
	// (upgradeConstraintPolicy SelfCertified).
	Downgraded Outcome = "downgraded"
	// Stranded: it does not get to the head.
	Stranded Outcome = "stranded"
	// NotMirrored: its package is not in the mirror, which is to serve it.
	NotMirrored Outcome = "not-mirrored"
	// Elsewhere: its package is not in the mirror, and nothing says that it ever
	// came from there.
	Elsewhere Outcome = "elsewhere"
	// Unknown: the package or the version that is installed is not known.
	Unknown Outcome = "unknown"
)

// rank puts outcomes in order, the best first.
func (o Outcome) rank() int {
	return slices.Index([]Outcome{AtHead, Reaches, ByHand, Ahead, Lacking, Downgraded, Stranded, NotMirrored, Elsewhere, Unknown}, o)
}

// An Answer is about one operator.
type Answer struct {
	Origin     string   `json:"origin"`
	Package    string   `json:"package,omitempty"`
	Namespace  string   `json:"namespace,omitempty"`
	Bundle     string   `json:"bundle"`
	Version    string   `json:"version,omitempty"`
	Generation string   `json:"generation"` // "OLM classic" or "OLM v1"
	Channels   []string `json:"channels,omitempty"`
	// Outcome is the best of the routes. A Subscription has one route for each
	// catalog; an operator of OLM classic whose channel is not known has one for
	// each channel too.
	Outcome Outcome `json:"outcome"`
	// Why is a sentence; "" where the routes say it all.
	Why    string  `json:"why,omitempty"`
	Routes []Route `json:"routes,omitempty"`
	// Mends are what would help, beside those of the routes.
	Mends []Mend   `json:"mends,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// A Route is what one catalog, and for OLM classic one channel, makes of an
// operator.
type Route struct {
	Catalog string `json:"catalog"`
	// Channel is the channel of OLM classic; "" for OLM v1, which joins the
	// channels that the ClusterExtension names, or all.
	Channel string `json:"channel,omitempty"`
	// Head is the bundle that the route should lead to: the head of the channel,
	// for OLM v1 what a new install would get. It is "" where there is none.
	Head    string  `json:"head,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Hops are the updates that are made, up to the head or where it ends.
	Hops []Hop `json:"hops,omitempty"`
	// Stuck is the bundle that has no update, where the outcome is Stranded or
	// ByHand: there OLM ends by itself.
	Stuck string `json:"stuck,omitempty"`
	// Why is a sentence.
	Why   string `json:"why"`
	Mends []Mend `json:"mends,omitempty"`
	// Blocks are what the bundle at the end of the route stands against.
	Blocks []Block `json:"blocks,omitempty"`
}

// A Hop is one update.
type Hop struct {
	Channel string `json:"channel,omitempty"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Edge is why OLM makes it; "" where the ClusterExtension goes without edges
	// (upgradeConstraintPolicy SelfCertified), or takes a bundle of the same version
	// for what is installed.
	Edge graph.EdgeKind `json:"edge,omitempty"`
	// Blocks are what stands against the hop, or against a cluster update while
	// it is not made.
	Blocks []Block `json:"blocks,omitempty"`
}

// A Mend is one thing to do. The fields that are set are those of the
// configuration; Message is a sentence about them.
type Mend struct {
	Message string `json:"message"`
	Catalog string `json:"catalog,omitempty"`
	Package string `json:"package,omitempty"`
	Channel string `json:"channel,omitempty"`
	// Keep are the bundles that the mirror lacks, in the order of the hops.
	Keep []string `json:"keep,omitempty"`
	// MinVersion of the package or channel would keep them, too.
	MinVersion string `json:"minVersion,omitempty"`
}
