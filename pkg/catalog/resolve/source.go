package resolve

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A source is a catalog during a round.
type source struct {
	Catalog
	valueCache *valueCache
	bundles    map[string]map[string]*bundle // by package and name
	kept       []candidate
	original   []candidate
	loaded     bool // original is computed
}

// A candidate is a bundle in a channel from which OLM can install it.
type candidate struct {
	*bundle
	channel string
}

// ref identifies a candidate.
func (o candidate) ref() BundleRef {
	return BundleRef{Catalog: o.source.Name, Package: o.Package, Channel: o.channel, Bundle: o.Name}
}

// A bundle is one bundle of a source, whether kept or not, with what it provides.
type bundle struct {
	*catalog.Bundle
	source     *source
	apis       []api    // sorted
	labels     []string // sorted
	deprecated bool     // OLM never installs it as a dependency (olm.deprecated)
}

// bundle returns a bundle with what it provides, read once.
func (s *source) bundle(b *catalog.Bundle) *bundle {
	named := s.bundles[b.Package]
	if named == nil {
		named = map[string]*bundle{}
		s.bundles[b.Package] = named
	}
	known := named[b.Name]
	if known == nil {
		known = &bundle{Bundle: b, source: s}
		known.apis, known.labels, known.deprecated = s.valueCache.provided(b)
		named[b.Name] = known
	}
	return known
}

// packages returns the packages of the original catalog.
func (s *source) packages() []*catalog.Package {
	if s.Original == nil {
		return nil
	}
	return slices.Concat(s.Original.Packages, s.Original.Outlines)
}

// candidates returns those of the original catalog, in order of preference.
func (s *source) candidates() []candidate {
	if !s.loaded {
		s.original, s.loaded = s.sort(s.packages()), true
	}
	return s.original
}

// sort returns the candidates of the channels of packages in the order in which OLM tries them:
// default channels of all packages first, then by package, then by channel; within a channel from
// the head down. A channel without such an order has no candidates.
func (s *source) sort(packages []*catalog.Package) []candidate {
	var first, then []candidate
	packages = slices.Clone(packages)
	elements.Sort(packages, func(a, b *catalog.Package) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range packages {
		named := make(map[string]*catalog.Bundle, len(p.Bundles))
		for _, b := range p.Bundles {
			if named[b.Name] == nil {
				named[b.Name] = b
			}
		}
		for _, c := range p.Channels {
			for _, e := range graph.Order(c.Entries) {
				b := named[e.Name]
				if b == nil {
					continue
				}
				o := candidate{bundle: s.bundle(b), channel: c.Name}
				switch {
				case o.deprecated:
				case c.Name == p.DefaultChannel:
					first = append(first, o)
				default:
					then = append(then, o)
				}
			}
		}
	}
	return append(first, then...)
}
