// Package upgrade checks which updates the operators of clusters get from a mirror.
//
// [Check] takes installed operators (pkg/catalog/installed) and the catalogs of a mirror: as they
// were filtered and, if known, as the publisher has them. For each operator it follows the update
// graph (pkg/catalog/graph) as its generation of OLM does, OLM classic or OLM v1. The [Result] says
// whether the operator reaches the head and by which hops. If it does not, the result says where
// the operator stops and what would fix it: bundles to keep, a channel or package to add, versions
// to pin one after the other, or nothing if the publisher has no upgrade path either.
//
// An upgrade path may be blocked on a cluster. Each [Hop] lists its [Block] values: a version of a
// custom resource is removed, a bundle needs a newer Kubernetes or is refused by OLM v1, a
// dependency is missing from the mirror (pkg/catalog/resolve), or the installed bundle prevents
// updates of the cluster itself. A block is marked as possible if the catalog does not tell enough
// to be sure.
//
// All functions are pure: the same input gives the same report.
package upgrade

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Catalog is one catalog of a mirror.
type Catalog struct {
	Name string
	// Kept is what the mirror has. What lies in its Outlines counts where others
	// need it, and is not looked into otherwise.
	Kept *catalog.Catalog
	// Source is the catalog that Kept was filtered from, at least in outline; nil if unknown.
	// Without it, Check cannot tell which bundles or channels would close a gap.
	Source *catalog.Catalog
	// CatalogSource is the namespace/name that Subscriptions of OLM classic use for the catalog; ""
	// if unknown.
	CatalogSource string
}

// Options describe the clusters.
type Options struct {
	// ClusterVersion is the OpenShift version that clusters run or will be updated to, such as
	// 4.19.3 or 4.19. If it is empty, Check reports no blocks that depend on it.
	ClusterVersion string
	// Configured are operators from the configuration of a mirror, once for each generation of OLM
	// that may manage them. One that is among the operators of Check is judged there, by the
	// generation that manages it; a note says if it has a problem in the other one. The rest is
	// checked as listed.
	Configured []installed.Operator
	// Conditions are what keeps operators and the platform from being updated.
	Conditions []installed.Condition
}

// A Report has a result for every operator, in the order of the input, and then for every
// configured operator that the input does not have.
type Report struct {
	// ClusterVersion is the version of Options, and Kubernetes the version that it is built on; ""
	// if not set or unknown.
	ClusterVersion string `json:"clusterVersion,omitempty"`
	Kubernetes     string `json:"kubernetes,omitempty"`
	// Notes are what cannot be checked on that version.
	Notes     []string `json:"notes,omitempty"`
	Operators []Result `json:"operators"`
	// Platform are what keeps the cluster from being updated to the next minor version.
	Platform []Block `json:"platform,omitempty"`
	// Offered are the heads that do not fit ClusterVersion, from Offers.
	Offered []Offer `json:"offered,omitempty"`
	// Conflicts are the APIs that several packages of the mirror provide.
	Conflicts []Conflict `json:"conflicts,omitempty"`
}

// WithOutcome returns the results that have one of the outcomes.
func (r Report) WithOutcome(outcomes ...Outcome) []Result {
	return elements.Filter(r.Operators, func(a Result) bool { return slices.Contains(outcomes, a.Outcome) })
}

// An Outcome classifies what an operator gets from the mirror. The set is closed.
type Outcome string

const (
	// AtHead: the head is already installed.
	AtHead Outcome = "at-head"
	// ReachesHead: OLM updates the operator to the head without intervention.
	ReachesHead Outcome = "reaches"
	// NeedsPinning: the operator reaches the head only if the administrator pins the version of the
	// ClusterExtension for one hop after the other.
	NeedsPinning Outcome = "by-hand"
	// Ahead: the installed version, or in OLM v1 the version that the operator reaches, is not
	// older than the head.
	Ahead Outcome = "ahead"
	// MissingDependency: the operator reaches the head only if another catalog provides a
	// dependency of a bundle on the path. Neither the mirror nor an installed operator provides it.
	MissingDependency Outcome = "lacking"
	// Downgraded: OLM v1 replaces the installed version by a lower one, without regard to edges
	// (upgradeConstraintPolicy SelfCertified).
	Downgraded Outcome = "downgraded"
	// Stranded: there is no upgrade path to the head.
	Stranded Outcome = "stranded"
	// NotMirrored: the package is not in the mirror, although the operator depends on the mirror
	// for it.
	NotMirrored Outcome = "not-mirrored"
	// OtherSource: the package is not in the mirror, and nothing indicates that the operator was
	// installed from there.
	OtherSource Outcome = "elsewhere"
	// Unknown: the package or the installed version is unknown.
	Unknown Outcome = "unknown"
)

// rank orders outcomes, the best first.
func (o Outcome) rank() int {
	return slices.Index([]Outcome{AtHead, ReachesHead, NeedsPinning, Ahead, MissingDependency, Downgraded, Stranded, NotMirrored, OtherSource, Unknown}, o)
}

// A Result is what Check found for one operator.
type Result struct {
	Origin     string   `json:"origin"`
	Package    string   `json:"package,omitempty"`
	Namespace  string   `json:"namespace,omitempty"`
	Bundle     string   `json:"bundle"`
	Version    string   `json:"version,omitempty"`
	Generation string   `json:"generation"` // "OLM classic" or "OLM v1"
	Channels   []string `json:"channels,omitempty"`
	// Outcome is the outcome of the best path. A Subscription has one path per catalog. An operator of OLM
	// classic whose channel is unknown also has one per channel.
	Outcome Outcome `json:"outcome"`
	// Explanation is a sentence; "" if the explanations of the paths are enough.
	Explanation string `json:"why,omitempty"`
	Paths       []Path `json:"routes,omitempty"`
	// Fixes are remedies in addition to those of the paths.
	Fixes []Fix    `json:"mends,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Unnamed are images that the installed bundle runs, and that no bundle of its package in the mirror
	// names.
	Unnamed []string `json:"unnamedImages,omitempty"`
}

// A Path is the upgrade path of an operator in one catalog and, for OLM classic, in one channel.
type Path struct {
	Catalog string `json:"catalog"`
	// Channel is the channel of OLM classic. It is "" for OLM v1, which joins the channels that the
	// ClusterExtension names, or all channels.
	Channel string `json:"channel,omitempty"`
	// Head is the bundle that the path should lead to: the head of the channel or, for OLM v1, the
	// bundle of a new installation. It is "" if there is no such bundle.
	Head    string  `json:"head,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Hops are the updates up to the head or up to where the path ends.
	Hops []Hop `json:"hops,omitempty"`
	// Stuck is the bundle at which OLM stops without intervention, if the outcome is Stranded or
	// NeedsPinning.
	Stuck string `json:"stuck,omitempty"`
	// Explanation is a sentence.
	Explanation string `json:"why"`
	Fixes       []Fix  `json:"mends,omitempty"`
	// Blocks apply to the bundle at the end of the path.
	Blocks []Block `json:"blocks,omitempty"`
}

// A Hop is one update.
type Hop struct {
	Channel string `json:"channel,omitempty"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Edge is the field of the channel entry that allows the update. It is "" if the
	// ClusterExtension ignores edges (upgradeConstraintPolicy SelfCertified), or if OLM v1 takes a
	// bundle of the same version for the installed one.
	Edge graph.EdgeKind `json:"edge,omitempty"`
	// Blocks prevent the hop, or prevent an update of the cluster until the hop is made.
	Blocks []Block `json:"blocks,omitempty"`
}

// A Fix is one remedy. The fields are those of the configuration; Message is a sentence that
// describes them.
type Fix struct {
	Message string `json:"message"`
	Catalog string `json:"catalog,omitempty"`
	Package string `json:"package,omitempty"`
	Channel string `json:"channel,omitempty"`
	// Keep lists the bundles that the mirror is missing, in the order of the hops.
	Keep []string `json:"keep,omitempty"`
	// MinVersion of the package or channel would keep these bundles, too.
	MinVersion string `json:"minVersion,omitempty"`
}
