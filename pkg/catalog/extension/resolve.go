package extension

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Resolution is the bundle that OLM v1 chooses for a ClusterExtension.
type Resolution struct {
	// Catalog is the name of the ClusterCatalog.
	Catalog string `json:"catalog"`
	Bundle  string `json:"bundle"`
	Version string `json:"version"`
	Release string `json:"release,omitempty"`
	// Unchanged says that the bundle is already installed.
	Unchanged bool `json:"stays,omitempty"`
	// Deprecated holds the messages of olm.deprecations about the package, the channels of the
	// ClusterExtension, and the bundle: "bundle foo.v1: message".
	Deprecated []string `json:"deprecated,omitempty"`
	// Refusals are the reasons why OLM v1 will not install the chosen bundle, as far as the catalog
	// shows them.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Considered describes every catalog, sorted by name.
	Considered []Considered `json:"considered"`
	// Explanation is a sentence that explains the choice.
	Explanation string `json:"why"`
}

// Considered counts the bundles of a catalog that each condition leaves.
type Considered struct {
	Catalog string `json:"catalog"`
	// SkipReason explains why the catalog was not considered: the selector, or that it is
	// unavailable; "" if it was.
	SkipReason string `json:"passed,omitempty"`
	// Found says that the catalog has the package.
	Found bool `json:"found"`
	// Bundles is the number of bundles of the package. InChannels counts those in the channels,
	// InRange those of them in the version range, and Updates those of them that are updates of the
	// installed bundle, itself included. A condition that is not set excludes nothing.
	Bundles    int `json:"bundles"`
	InChannels int `json:"inChannels"`
	InRange    int `json:"inRange"`
	Updates    int `json:"updates"`
	// Bundle is the bundle that the catalog offers, or "".
	Bundle string `json:"bundle,omitempty"`
}

// Resolve returns the bundle that OLM v1 installs, or updates to from e.Installed. The error is an
// [*Error].
func Resolve(e Extension, catalogs []Catalog) (Resolution, error) {
	inRange, err := Range(e.Version)
	if err != nil {
		return Resolution{}, &Error{Reason: Invalid, Message: err.Error()}
	}
	catalogs = elements.Sorted(slices.Values(catalogs), func(a, b Catalog) int { return cmp.Compare(a.Name, b.Name) })
	var considered []Considered
	var candidates []candidate
	for _, c := range catalogs {
		one := Considered{Catalog: c.Name}
		switch p := packageOf(c, e.Package); {
		case !e.Selector.matches(c.labels()):
			one.SkipReason = "the selector does not match its labels"
		case c.Unavailable:
			one.SkipReason = "its availabilityMode is Unavailable"
		case p != nil:
			o := candidate{catalog: c, pkg: p, deprecated: deprecations(p)}
			if err := o.choose(e, inRange, &one); err != nil {
				return Resolution{}, err
			}
			if o.bundle != nil {
				one.Bundle = o.bundle.Name
				candidates = append(candidates, o)
			}
		}
		considered = append(considered, one)
	}

	candidates = preferred(candidates)
	if len(candidates) != 1 {
		return Resolution{}, unresolved(e, catalogs, considered, candidates)
	}
	chosen := candidates[0]
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

// packageOf returns a package of a catalog's content, or nil.
func packageOf(c Catalog, name string) *catalog.Package {
	if c.Content == nil {
		return nil
	}
	return c.Content.Package(name)
}

// A candidate is the bundle that one catalog offers.
type candidate struct {
	catalog    Catalog
	pkg        *catalog.Package
	deprecated map[string]string
	bundle     *catalog.Bundle
}

// isDeprecated reports whether the offered bundle is deprecated.
func (o candidate) isDeprecated() bool {
	_, deprecated := o.deprecated[o.bundle.Name]
	return deprecated
}

// choose selects the bundle of the package, and counts what each condition leaves.
func (o *candidate) choose(e Extension, inRange func(semver.Version) bool, count *Considered) error {
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
	fields := map[string]bool{}
	for _, ch := range channels {
		for _, entry := range ch.Entries {
			fields[entry.Name] = true
		}
	}
	count.Found = true
	for _, b := range o.pkg.Bundles {
		count.Bundles++
		if len(e.Channels) > 0 && !fields[b.Name] {
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

// updatesOf returns a filter for updates of the installed bundle: bundles with an edge from it in
// the channels, and bundles of the same version. It returns nil if every bundle is allowed.
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

// preferred drops deprecated candidates if there are others, and then returns the catalog with the
// highest priority, or all candidates if several share it.
func preferred(candidates []candidate) []candidate {
	if slices.ContainsFunc(candidates, func(o candidate) bool { return !o.isDeprecated() }) {
		candidates = slices.DeleteFunc(candidates, candidate.isDeprecated)
	}
	elements.Sort(candidates, func(a, b candidate) int { return cmp.Compare(b.catalog.Priority, a.catalog.Priority) })
	if len(candidates) > 1 && candidates[0].catalog.Priority > candidates[1].catalog.Priority {
		return candidates[:1]
	}
	return candidates
}

// resolution describes the chosen candidate.
func (o candidate) resolution(e Extension, considered []Considered) Resolution {
	b := o.bundle
	r := Resolution{
		Catalog: o.catalog.Name, Bundle: b.Name, Version: b.Version.String(), Release: b.Release,
		Considered: considered, Explanation: o.explanation(e, considered),
	}
	if e.Installed != nil {
		r.Unchanged = e.Installed.Name == b.Name
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
