// Package draft makes a configuration from what clusters run.
//
// The input is an [installed.Cluster]: operators, releases of the platform, catalogs and mirror sets.
// The output is an imageset.Config that mirrors what keeps these clusters working: for each operator
// its channels from the installed version to the head, for the platform the update path from the
// running release to the head of its channel. A pinned configuration has exactly the versions that are
// installed.
//
// A cluster behind a mirror names its catalogs by the mirror. Their sources are read from the mirror
// sets, or concluded from the path below the prefix that these show. What cannot be known has to be given.
package draft

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// Options change what FromCluster makes.
type Options struct {
	// Pinned selects the installed versions alone.
	Pinned bool
	// Catalogs are references of catalogs, by the name of a CatalogSource ("NAMESPACE/NAME" or
	// "NAME"), of a ClusterCatalog or of a package. They take precedence over what the input says.
	Catalogs map[string]string
}

// A Draft is a configuration for people to review.
type Draft struct {
	Config *imageset.Config
	// Comments explain fields and entries, by their paths as in imageset.Config.YAML.
	Comments map[string]string
	// Notes are sentences about what the configuration does not contain.
	Notes []string
	// Catalogs are the references of all catalogs that clusters have and whose source is known, sorted.
	Catalogs []string
}

// FromCluster makes the configuration for what clusters run. If the source of a catalog is unknown,
// the error is of kind advice.Input and names all such catalogs.
func FromCluster(c *installed.Cluster, o Options) (*Draft, error) {
	d := newDrafter(c, o)
	for _, v := range c.Versions {
		if m := release.Minor(v.Version); !slices.Contains(d.minors, m) {
			d.minors = append(d.minors, m)
		}
	}
	if err := d.operators(); err != nil {
		return nil, err
	}
	for _, one := range c.Catalogs {
		if ref, _ := d.sourceOf(one); ref != "" {
			d.draft.Catalogs = append(d.draft.Catalogs, ref)
		}
	}
	slices.Sort(d.draft.Catalogs)
	d.draft.Catalogs = slices.Compact(d.draft.Catalogs)
	d.platform()
	if err := d.checkUsed("use the name of a CatalogSource or ClusterCatalog that installed operators are from, or of an installed package"); err != nil {
		return nil, err
	}
	if d.isEmpty() {
		return nil, advice.New(advice.Input, "add the output of oc get csv,subscription,clusterextension,clusterversion -A -o json", "nothing is installed that a configuration could mirror")
	}
	return d.draft, nil
}

func newDrafter(c *installed.Cluster, o Options) *drafter {
	return &drafter{cluster: c, Options: o, used: map[string]bool{}, draft: &Draft{Config: &imageset.Config{}, Comments: map[string]string{}}}
}

// checkUsed returns an error if a name in the options means nothing.
func (d *drafter) checkUsed(hint string) error {
	for _, name := range slices.Sorted(maps.Keys(d.Catalogs)) {
		if !d.used[name] {
			return advice.New(advice.Input, hint, "Options.Catalogs: nothing here is called %q", name)
		}
	}
	return nil
}

func (d *drafter) isEmpty() bool {
	m := &d.draft.Config.Mirror
	return len(m.Operators) == 0 && m.Platform == nil
}

// A drafter makes one configuration.
type drafter struct {
	Options
	cluster *installed.Cluster
	mirror  string // the host of a mirror, or ""
	draft   *Draft
	minors  []string        // of the platform's releases
	used    map[string]bool // names in Options.Catalogs
}

// given returns the reference in the options for a name, or "".
func (d *drafter) given(name string) string {
	ref := d.Catalogs[name]
	if ref != "" {
		d.used[name] = true
	}
	return ref
}

func (d *drafter) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.draft.Notes, text) {
		d.draft.Notes = append(d.draft.Notes, text)
	}
}

// operators makes the entries of mirror.operators.
func (d *drafter) operators() error {
	byCatalog := map[string][]installed.Operator{}
	whys := map[string]string{}
	var unknown []string
	for _, o := range d.cluster.Operators {
		if o.Package == "" {
			d.note("%s is not included: %s", o.Origin, strings.Join(o.Notes, "; "))
			continue
		}
		ref, why, name := d.catalogOf(o)
		if ref == "" {
			text := fmt.Sprintf("%s: %s", name, why)
			if !slices.Contains(unknown, text) {
				unknown = append(unknown, text)
			}
			continue
		}
		byCatalog[ref], whys[ref] = append(byCatalog[ref], o), why
	}
	if len(unknown) > 0 {
		return unknownSources(unknown)
	}
	for _, ref := range slices.Sorted(maps.Keys(byCatalog)) {
		entry := imageset.Operator{Catalog: ref}
		at := fmt.Sprintf("mirror.operators[%d]", len(d.draft.Config.Mirror.Operators))
		if why := whys[ref]; why != "" {
			d.draft.Comments[at] = why
		}
		byPackage := map[string][]installed.Operator{}
		for _, o := range byCatalog[ref] {
			byPackage[o.Package] = append(byPackage[o.Package], o)
		}
		for _, name := range slices.Sorted(maps.Keys(byPackage)) {
			p, more := d.packageOf(name, byPackage[name])
			path := fmt.Sprintf("%s.packages[%d]", at, len(entry.Packages))
			d.draft.Comments[path] = installedAs(byPackage[name])
			entry.Packages, entry.Installed = append(entry.Packages, p), append(entry.Installed, more...)
		}
		d.draft.Config.Mirror.Operators = append(d.draft.Config.Mirror.Operators, entry)
	}
	return nil
}

func unknownSources(names []string) error {
	slices.Sort(names)
	return advice.New(advice.Input, "set Options.Catalogs to the reference of each, such as NAME=registry.redhat.io/redhat/redhat-operator-index:v4.20",
		"the sources of these catalogs are unknown:\n  %s", strings.Join(names, "\n  "))
}

// catalogOf returns the catalog that an operator is updated from. If it is unknown, ref is "", why says
// so, and name is what Options.Catalogs has to name.
func (d *drafter) catalogOf(o installed.Operator) (ref, why, name string) {
	if given := d.given(o.Package); given != "" {
		return given, "", ""
	}
	wanted := cmp.Or(o.Catalog, o.ClusterCatalog)
	if wanted != "" {
		if given := d.given(wanted); given != "" {
			return given, "", ""
		}
	}
	var candidates []installed.Catalog
	for _, c := range d.cluster.Catalogs {
		isV1 := c.Namespace == ""
		if isV1 == (o.Generation == graph.V1) && (wanted == "" || wanted == c.Title()) {
			candidates = append(candidates, c)
		}
	}
	switch {
	case len(candidates) == 0 && wanted != "":
		return "", "the input does not have it; add the output of oc get catalogsource,clustercatalog -A -o json", wanted
	case len(candidates) == 0:
		return "", "its catalog is unknown; add the output of oc get subscription,catalogsource,clustercatalog -A -o json", o.Package
	}
	refs := map[string]string{}
	for _, c := range candidates {
		if ref, why = d.sourceOf(c); ref == "" {
			return "", why, c.Title()
		}
		refs[ref] = why
	}
	if len(refs) > 1 { // only if the operator names no catalog
		return "", "it may be from any of " + strings.Join(slices.Sorted(maps.Keys(refs)), ", "), o.Package
	}
	return ref, why, ""
}

// packageOf returns the selection of a package, and the installed operators that no version range
// keeps because their version is unknown.
func (d *drafter) packageOf(name string, operators []installed.Operator) (imageset.Package, []imageset.Installed) {
	p := imageset.Package{Name: name}
	var all imageset.Range
	channels := map[string]imageset.Range{}
	anyChannel := false
	var unversioned []imageset.Installed
	for _, o := range operators {
		if o.Version == "" {
			unversioned = append(unversioned, o.Entry())
		}
		all = Widen(all, o.Version)
		for _, channel := range o.Channels {
			channels[channel] = Widen(channels[channel], o.Version)
		}
		anyChannel = anyChannel || len(o.Channels) == 0
	}
	if len(unversioned) > 0 && d.Pinned {
		// Without its version, the installed bundle is selected by its name.
		for _, o := range operators {
			if b := (imageset.Bundle{Name: o.Bundle}); !slices.Contains(p.Bundles, b) {
				p.Bundles = append(p.Bundles, b)
			}
		}
		return p, nil
	}
	limit := func(r imageset.Range) imageset.Range {
		if !d.Pinned {
			r.Max = ""
		}
		return r
	}
	switch {
	case len(unversioned) > 0:
		// A range from the versions that are known could leave out the one that is not: the update
		// paths of all of them are selected instead.
		unversioned = nil
		for _, o := range operators {
			unversioned = append(unversioned, o.Entry())
		}
		limit = func(imageset.Range) imageset.Range { return imageset.Range{} }
	case anyChannel:
		p.Range = limit(all)
	}
	if !anyChannel {
		for _, channel := range slices.Sorted(maps.Keys(channels)) {
			p.Channels = append(p.Channels, imageset.Channel{Name: channel, Range: limit(channels[channel])})
		}
	}
	return p, unversioned
}

// Widen returns a range that also has the version. An invalid version changes nothing: no range could
// select it.
func Widen(r imageset.Range, version string) imageset.Range {
	v, err := semver.Parse(version)
	if err != nil {
		return r
	}
	if low, err := semver.Parse(r.Min); err != nil || v.LT(low) {
		r.Min = version
	}
	if high, err := semver.Parse(r.Max); err != nil || v.GT(high) {
		r.Max = version
	}
	return r
}

// installedAs describes the installed operators of a package, one line for each.
func installedAs(operators []installed.Operator) string {
	var lines []string
	for _, o := range operators {
		line := "Installed: " + o.Bundle
		if o.Namespace != "" {
			line += " in " + o.Namespace
		}
		if o.Range != "" {
			line += ", version " + o.Range
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
