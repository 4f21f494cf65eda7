package catalogserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver/api"
)

// An index finds what OLM classic requests: by package, channel and bundle, and by the APIs that
// bundles provide.
type index struct {
	packages []*indexedPackage // sorted by name
	byName   map[string]*indexedPackage
	// providers are the entries whose bundles provide an API, sorted by package,
	// channel and name.
	providers map[gvk][]channelEntry
	// others are the objects without package.
	others []*catalog.Meta
}

// An indexedPackage is a package with its channels and deprecations.
type indexedPackage struct {
	*catalog.Package
	channels     map[string]*indexedChannel
	sorted       []*indexedChannel // by name
	description  string
	icon         *icon
	deprecations map[deprecationRef]string
}

// An indexedChannel is a channel with its head, and its entries by name.
type indexedChannel struct {
	*catalog.Channel
	head    string
	entries map[string]channelEntry
	sorted  []channelEntry // by name
}

// A channelEntry is an entry of a channel and its bundle.
type channelEntry struct {
	pkg     *indexedPackage
	channel *indexedChannel
	entry   catalog.Entry
	bundle  *catalog.Bundle
}

// A deprecationRef is what an entry of olm.deprecations refers to.
type deprecationRef struct{ schema, name string }

// newIndex indexes a catalog. The error lists everything that prevents serving it to OLM classic, which
// needs one head for each channel and a bundle with a version for each entry.
func newIndex(c *catalog.Catalog) (*index, error) {
	x := &index{byName: map[string]*indexedPackage{}, providers: map[gvk][]channelEntry{}, others: c.Others}
	var problems []string
	for _, p := range c.Packages {
		found := x.add(p)
		problems = append(problems, found...)
	}
	if len(problems) > 0 {
		rest := ""
		if n := len(problems); n > maxProblems {
			rest = fmt.Sprintf("\nand %d more", n-maxProblems)
			problems = problems[:maxProblems]
		}
		return nil, fmt.Errorf("serving the catalog to OLM classic: %s%s", strings.Join(problems, "\n"), rest)
	}
	return x, nil
}

// maxProblems is the maximum number of problems in an error.
const maxProblems = 50

// add indexes a package and returns its problems.
func (x *index) add(p *catalog.Package) []string {
	var problems []string
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("package %s: ", p.Name)+fmt.Sprintf(format, args...))
	}
	pkg := &indexedPackage{Package: p, channels: map[string]*indexedChannel{}, deprecations: map[deprecationRef]string{}}
	if len(p.Metas) == 0 {
		problem("there is no olm.package object")
	} else {
		var err error
		if pkg.description, pkg.icon, err = presentation(p.Metas[0].Raw); err != nil {
			problem("%v", err)
		}
	}
	for _, d := range p.Deprecations {
		for _, e := range d.Entries {
			pkg.deprecations[deprecationRef{e.Schema, e.Name}] = e.Message
		}
	}
	bundles := map[string]*catalog.Bundle{}
	apis := map[string][]gvk{}
	for _, b := range p.Bundles {
		provided, err := bundleGVKs(b, typeGVK)
		if err != nil {
			problem("%v", err)
		}
		elements.Sort(provided, compareAPIs)
		bundles[b.Name], apis[b.Name] = b, slices.Compact(provided) // some bundles have an API twice
	}
	for _, c := range p.Channels {
		heads := graph.Inspect(c.Entries).Heads
		if len(heads) != 1 {
			problem("channel %s has %d heads (%s), but needs exactly one", c.Name, len(heads), strings.Join(heads, ", "))
			continue
		}
		ch := &indexedChannel{Channel: c, head: heads[0], entries: map[string]channelEntry{}}
		pkg.channels[c.Name], pkg.sorted = ch, append(pkg.sorted, ch)
		for _, e := range c.Entries {
			b := bundles[e.Name]
			switch {
			case b == nil:
				problem("channel %s has the entry %s without a bundle", c.Name, e.Name)
				continue
			case b.VersionErr != nil:
				problem("bundle %s: %v", b.Name, b.VersionErr)
				continue
			}
			entry := channelEntry{pkg, ch, e, b}
			ch.entries[e.Name], ch.sorted = entry, append(ch.sorted, entry)
		}
		elements.Sort(ch.sorted, func(a, b channelEntry) int { return cmp.Compare(a.entry.Name, b.entry.Name) })
		for _, e := range ch.sorted {
			for _, a := range apis[e.entry.Name] {
				x.providers[a] = append(x.providers[a], e)
			}
		}
	}
	x.packages, x.byName[p.Name] = append(x.packages, pkg), pkg
	return problems
}

// replaces reports whether the entry replaces or skips a bundle.
func (e channelEntry) replaces(name string) bool {
	return e.entry.Replaces == name || slices.Contains(e.entry.Skips, name)
}

// deprecation returns the message of olm.deprecations for an object of the package, nil if none.
func (p *indexedPackage) deprecation(schema, name string) *api.Deprecation {
	text, ok := p.deprecations[deprecationRef{schema, name}]
	if !ok {
		return nil
	}
	return &api.Deprecation{Message: text}
}
