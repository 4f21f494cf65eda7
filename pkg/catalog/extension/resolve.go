package extension

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A Resolution is what OLM v1 chooses for a ClusterExtension.
type Resolution struct {
	// Catalog is the name of the ClusterCatalog.
	Catalog string `json:"catalog"`
	Bundle  string `json:"bundle"`
	Version string `json:"version"`
	Release string `json:"release,omitempty"`
	// Stays says that the bundle is the one that is installed.
	Stays bool `json:"stays,omitempty"`
	// Deprecated are the messages of olm.deprecations about the package, the
	// channels that were asked for, and the bundle: "bundle foo.v1: message".
	Deprecated []string `json:"deprecated,omitempty"`
	// Refusals are why the bundle will not be installed all the same, as far as
	// the catalog tells.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Considered says what became of every catalog, sorted by name.
	Considered []Considered `json:"considered"`
	// Why is a sentence on how the choice came about.
	Why string `json:"why"`
}

// Considered is how a catalog fared: how many bundles each condition left over.
type Considered struct {
	Catalog string `json:"catalog"`
	// Passed says why the catalog was not looked into: the selector, or that it
	// is unavailable. It is "" if it was.
	Passed string `json:"passed,omitempty"`
	// Found says that it has the package.
	Found bool `json:"found"`
	// Bundles are those of the package; InChannels those of them in the channels,
	// InRange those of these in the range of versions, and Updates those of these
	// that what is installed may become, itself included. A condition that was
	// not set leaves all.
	Bundles    int `json:"bundles"`
	InChannels int `json:"inChannels"`
	InRange    int `json:"inRange"`
	Updates    int `json:"updates"`
	// Bundle is the one that the catalog offers in the end, "" for none.
	Bundle string `json:"bundle,omitempty"`
}

// Resolve says which bundle OLM v1 installs, or updates to from e.Installed. The
// error is an [*Error].
func Resolve(e Extension, catalogs []Catalog) (Resolution, error) {
	inRange, err := Range(e.Version)
	if err != nil {
		return Resolution{}, &Error{Reason: Invalid, Message: err.Error()}
	}
	catalogs = slices.SortedStableFunc(slices.Values(catalogs), func(a, b Catalog) int { return cmp.Compare(a.Name, b.Name) })
	var considered []Considered
	var offers []offer
	for _, c := range catalogs {
		one := Considered{Catalog: c.Name}
		switch p := content(c, e.Package); {
		case !e.Selector.takes(c.labels()):
			one.Passed = "the selector does not take its labels in"
		case c.Unavailable:
			one.Passed = "its availabilityMode is Unavailable"
		case p != nil:
			o := offer{catalog: c, pkg: p, deprecated: deprecations(p)}
			if err := o.choose(e, inRange, &one); err != nil {
				return Resolution{}, err
			}
			if o.bundle != nil {
				one.Bundle = o.bundle.Name
				offers = append(offers, o)
			}
		}
		considered = append(considered, one)
	}

	offers = preferred(offers)
	if len(offers) != 1 {
		return Resolution{}, unresolved(e, catalogs, considered, offers)
	}
	chosen := offers[0]
	if chosen.bundle.VersionErr != nil {
		return Resolution{}, &Error{Reason: Invalid, Considered: considered,
			Message: fmt.Sprintf("error getting resolved bundle version for bundle %q: %v", chosen.bundle.Name, chosen.bundle.VersionErr)}
	}
	if property := dependency(chosen.bundle); property != "" {
		return Resolution{}, &Error{Reason: Unsupported, Considered: considered,
			Message: fmt.Sprintf("validating bundle %[1]q: bundle %[1]q has a dependency declared via property %[2]q which is currently not supported", chosen.bundle.Name, property)}
	}
	return chosen.resolution(e, considered), nil
}

// content is the package in what a catalog serves, or nil.
func content(c Catalog, name string) *catalog.Package {
	if c.Content == nil {
		return nil
	}
	return c.Content.Package(name)
}

// An offer is the bundle that one catalog offers.
type offer struct {
	catalog    Catalog
	pkg        *catalog.Package
	deprecated map[string]string
	bundle     *catalog.Bundle
}

// old reports whether the offered bundle is deprecated.
func (o offer) old() bool {
	_, deprecated := o.deprecated[o.bundle.Name]
	return deprecated
}

// choose finds the bundle of the package that is offered, and counts what each
// condition leaves over.
func (o *offer) choose(e Extension, inRange func(semver.Version) bool, count *Considered) error {
	channels := o.pkg.Channels
	if len(e.Channels) > 0 {
		channels = nil
		for _, ch := range o.pkg.Channels {
			if slices.Contains(e.Channels, ch.Name) {
				channels = append(channels, ch)
			}
		}
	}
	updates, err := updatesOf(e, channels)
	if err != nil {
		return err
	}
	members := map[string]bool{}
	for _, ch := range channels {
		for _, entry := range ch.Entries {
			members[entry.Name] = true
		}
	}
	count.Found = true
	for _, b := range o.pkg.Bundles {
		count.Bundles++
		if len(e.Channels) > 0 && !members[b.Name] {
			continue
		}
		count.InChannels++
		if e.Version != "" && (b.VersionErr != nil || !inRange(b.Version)) {
			continue
		}
		count.InRange++
		if updates != nil && !updates(b) {
			continue
		}
		count.Updates++
		if o.bundle == nil || compareBundles(b, o.bundle, o.deprecated) < 0 {
			o.bundle = b
		}
	}
	return nil
}

// updatesOf says which bundles what is installed may become: those with an edge
// from it in the channels, and those of its own version. It is nil where that is
// no condition.
func updatesOf(e Extension, channels []*catalog.Channel) (func(*catalog.Bundle) bool, error) {
	if e.Installed == nil || e.SelfCertified {
		return nil, nil
	}
	version, err := semver.Parse(e.Installed.Version)
	if err != nil {
		return nil, &Error{Reason: Invalid, Message: fmt.Sprintf("error finding upgrade edges: failed to get version and release of installed bundle: %v", err)}
	}
	edges := map[string]bool{}
	for _, ch := range channels {
		for _, entry := range ch.Entries {
			if !edges[entry.Name] && graph.Edge(entry, e.Installed.Name, version) {
				edges[entry.Name] = true
			}
		}
	}
	at := catalog.NewVersionRelease(version, e.Installed.Release)
	return func(b *catalog.Bundle) bool {
		return edges[b.Name] || b.VersionErr == nil && catalog.NewVersionRelease(b.Version, b.Release).Compare(at) == 0
	}, nil
}

// preferred are the offers that are left when deprecated bundles stand behind
// others, and one catalog may have a higher priority than all others.
func preferred(offers []offer) []offer {
	if slices.ContainsFunc(offers, func(o offer) bool { return !o.old() }) {
		offers = slices.DeleteFunc(offers, offer.old)
	}
	slices.SortStableFunc(offers, func(a, b offer) int { return cmp.Compare(b.catalog.Priority, a.catalog.Priority) })
	if len(offers) > 1 && offers[0].catalog.Priority > offers[1].catalog.Priority {
		return offers[:1]
	}
	return offers
}

// resolution is the account of the offer that was taken.
func (o offer) resolution(e Extension, considered []Considered) Resolution {
	b := o.bundle
	r := Resolution{
		Catalog: o.catalog.Name, Bundle: b.Name, Version: b.Version.String(), Release: b.Release,
		Considered: considered, Why: o.why(e, considered),
	}
	if e.Installed != nil {
		r.Stays = e.Installed.Name == b.Name
	}
	for _, refusal := range Refusals(b) {
		if refusal.Reason != InstallMode || e.WatchNamespace == "" || !watchesSingle(b) {
			r.Refusals = append(r.Refusals, refusal)
		}
	}
	if len(o.pkg.Deprecations) == 0 {
		return r
	}
	for _, d := range o.pkg.Deprecations[0].Entries {
		switch {
		case d.Schema == catalog.SchemaPackage:
			r.Deprecated = append(r.Deprecated, fmt.Sprintf("package %s: %s", o.pkg.Name, d.Message))
		case d.Schema == catalog.SchemaChannel && slices.Contains(e.Channels, d.Name):
			r.Deprecated = append(r.Deprecated, fmt.Sprintf("channel %s: %s", d.Name, d.Message))
		case d.Schema == catalog.SchemaBundle && d.Name == b.Name:
			r.Deprecated = append(r.Deprecated, fmt.Sprintf("bundle %s: %s", d.Name, d.Message))
		}
	}
	return r
}
