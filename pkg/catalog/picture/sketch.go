package picture

import (
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A sketch is what the channels of a package share.
type sketch struct {
	pkg        *catalog.Package
	options    Options
	bundles    map[string]*catalog.Bundle
	channelsOf map[string][]string                // of a bundle, sorted
	deprecated map[catalog.Deprecation]string     // messages; keys have no Message
	reasons    map[string]map[string]filter.Entry // by channel and bundle
}

func newSketch(p *catalog.Package, o Options) *sketch {
	s := &sketch{
		pkg: p, options: o,
		bundles:    map[string]*catalog.Bundle{},
		channelsOf: map[string][]string{},
		deprecated: map[catalog.Deprecation]string{},
		reasons:    map[string]map[string]filter.Entry{},
	}
	for _, b := range p.Bundles {
		if s.bundles[b.Name] == nil {
			s.bundles[b.Name] = b
		}
	}
	for _, c := range p.Channels {
		for _, e := range c.Entries {
			if of := s.channelsOf[e.Name]; len(of) == 0 || of[len(of)-1] != c.Name {
				s.channelsOf[e.Name] = append(of, c.Name)
			}
		}
	}
	for _, d := range p.Deprecations {
		for _, e := range d.Entries {
			s.deprecated[catalog.Deprecation{Schema: e.Schema, Name: e.Name}] = e.Message
		}
	}
	if o.Account != nil {
		for _, c := range o.Account.Channels {
			s.reasons[c.Name] = map[string]filter.Entry{}
			for _, e := range c.Entries {
				s.reasons[c.Name][e.Name] = e
			}
		}
	}
	return s
}

// deprecation returns the deprecation message of a package, channel or bundle.
func (s *sketch) deprecation(schema, name string) (string, bool) {
	message, ok := s.deprecated[catalog.Deprecation{Schema: schema, Name: name}]
	return message, ok
}

// runs reports whether a cluster runs the bundle of a name. An installed bundle that is known only
// by its version matches every bundle of that version.
func (s *sketch) runs(name string) bool {
	b := s.bundles[name]
	return slices.ContainsFunc(s.options.Installed, func(at graph.At) bool {
		if at.Name != "" {
			return at.Name == name
		}
		return b != nil && b.VersionErr == nil && b.Version.Equals(at.Version) && b.Release == at.Release
	})
}
