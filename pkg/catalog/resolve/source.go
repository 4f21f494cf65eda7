package resolve

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A source is a catalog during a round.
type source struct {
	Catalog
	terms   *terms
	bundles map[string]map[string]*bundle // by package and name
	kept    []offer
	whole   []offer
	opened  bool // whole was made
}

// An offer is a bundle in a channel from which OLM can install it.
type offer struct {
	*bundle
	channel string
}

// place is where an offer stands.
func (o offer) place() Place {
	return Place{Catalog: o.source.Name, Package: o.Package, Channel: o.channel, Bundle: o.Name}
}

// A bundle is one bundle of a source, whether kept or not, with what it gives.
type bundle struct {
	*catalog.Bundle
	source   *source
	apis     []api    // sorted
	labels   []string // sorted
	excluded bool     // OLM installs it for nobody (olm.deprecated)
}

// bundle is what the source knows of a bundle.
func (s *source) bundle(b *catalog.Bundle) *bundle {
	named := s.bundles[b.Package]
	if named == nil {
		named = map[string]*bundle{}
		s.bundles[b.Package] = named
	}
	known := named[b.Name]
	if known == nil {
		known = &bundle{Bundle: b, source: s}
		known.apis, known.labels, known.excluded = s.terms.given(b)
		named[b.Name] = known
	}
	return known
}

// packages are those of the whole catalog.
func (s *source) packages() []*catalog.Package {
	if s.Whole == nil {
		return nil
	}
	return slices.Concat(s.Whole.Packages, s.Whole.Outlines)
}

// offers are those of the whole catalog, in the order of preference.
func (s *source) offers() []offer {
	if !s.opened {
		s.whole, s.opened = s.sort(s.packages()), true
	}
	return s.whole
}

// sort puts what the channels of packages offer in the order in which OLM tries
// it: default channels first, whatever their package, then by package, then by
// channel; in a channel from the head down. A channel that has no such order offers
// nothing.
func (s *source) sort(packages []*catalog.Package) []offer {
	var first, then []offer
	packages = slices.Clone(packages)
	slices.SortStableFunc(packages, func(a, b *catalog.Package) int { return strings.Compare(a.Name, b.Name) })
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
				o := offer{bundle: s.bundle(b), channel: c.Name}
				switch {
				case o.excluded:
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
