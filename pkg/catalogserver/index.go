package catalogserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// An index is a catalog as OLM classic asks for it: by package, channel and
// bundle, and by the APIs that bundles provide.
type index struct {
	packages []*indexed // sorted by name
	byName   map[string]*indexed
	// providers are the entries whose bundles provide an API, sorted by package,
	// channel and name.
	providers map[gvk][]place
	// others are the objects of no package.
	others []*catalog.Meta
}

// An indexed is a package.
type indexed struct {
	*catalog.Package
	channels     map[string]*channel
	sorted       []*channel // by name
	description  string
	icon         *icon
	deprecations map[deprecated]string
}

// A channel has its head, and its entries by name.
type channel struct {
	*catalog.Channel
	head    string
	entries map[string]place
	sorted  []place // by name
}

// A place is a bundle's place in a channel.
type place struct {
	pkg     *indexed
	channel *channel
	entry   catalog.Entry
	bundle  *catalog.Bundle
}

// A deprecated is what an olm.deprecations entry is about.
type deprecated struct{ schema, name string }

// newIndex arranges a catalog. The error lists what keeps OLM classic from being
// served: it needs one head for each channel and a bundle with a version for each
// entry.
func newIndex(c *catalog.Catalog) (*index, error) {
	x := &index{byName: map[string]*indexed{}, providers: map[gvk][]place{}, others: c.Others}
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

// maxProblems is how many problems of a catalog are listed.
const maxProblems = 50

// add arranges a package and returns what is wrong with it.
func (x *index) add(p *catalog.Package) []string {
	var problems []string
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("package %s: ", p.Name)+fmt.Sprintf(format, args...))
	}
	pkg := &indexed{Package: p, channels: map[string]*channel{}, deprecations: map[deprecated]string{}}
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
			pkg.deprecations[deprecated{e.Schema, e.Name}] = e.Message
		}
	}
	bundles := map[string]*catalog.Bundle{}
	apis := map[string][]gvk{}
	for _, b := range p.Bundles {
		provided, err := bundleGVKs(b, typeGVK)
		if err != nil {
			problem("%v", err)
		}
		slices.SortFunc(provided, compareAPIs)
		bundles[b.Name], apis[b.Name] = b, slices.Compact(provided) // some say an API twice
	}
	for _, c := range p.Channels {
		heads := graph.Inspect(c.Entries).Heads
		if len(heads) != 1 {
			problem("channel %s has %d heads (%s), and needs one", c.Name, len(heads), strings.Join(heads, ", "))
			continue
		}
		ch := &channel{Channel: c, head: heads[0], entries: map[string]place{}}
		pkg.channels[c.Name], pkg.sorted = ch, append(pkg.sorted, ch)
		for _, e := range c.Entries {
			b := bundles[e.Name]
			switch {
			case b == nil:
				problem("channel %s has the entry %s, which is no bundle", c.Name, e.Name)
				continue
			case b.VersionErr != nil:
				problem("bundle %s: %v", b.Name, b.VersionErr)
				continue
			}
			at := place{pkg, ch, e, b}
			ch.entries[e.Name], ch.sorted = at, append(ch.sorted, at)
		}
		slices.SortFunc(ch.sorted, func(a, b place) int { return cmp.Compare(a.entry.Name, b.entry.Name) })
		for _, at := range ch.sorted {
			for _, api := range apis[at.entry.Name] {
				x.providers[api] = append(x.providers[api], at)
			}
		}
	}
	x.packages, x.byName[p.Name] = append(x.packages, pkg), pkg
	return problems
}

// replaces reports whether the entry replaces or skips a bundle.
func (p place) replaces(name string) bool {
	return p.entry.Replaces == name || slices.Contains(p.entry.Skips, name)
}
