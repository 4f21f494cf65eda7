// Package picture makes drawings of a package's channels: what pkg/diagram
// draws, from what pkg/catalog read.
//
// Every channel is a graph of its own. Its nodes are the entries, oldest first,
// and the names that an entry replaces or skips though the channel does not have
// them. Its edges lead from a bundle to what OLM offers as its update. All of
// them are there, but a picture of all of them is black: a head whose skipRange
// holds forty versions has forty lines more. So an edge is drawn where it is the
// way that a bundle is taken, and folded into a note of its successor ("directly
// from 39 more") where another one says the same:
//
//   - What an entry replaces is drawn, always: that is the chain.
//   - A bundle that nothing replaces is drawn into the entry nearest to the head
//     that skips it, for this is where OLM takes it at once. So are names that the
//     channel does not have; those that lead to the same entries are one node.
//   - A bundle that nothing replaces or skips is drawn into the entry nearest to
//     the head whose skipRange holds it.
//
// Marks tell what is kept of it and what is pruned, the head and, where another
// one is mirrored, that; what is skipped, deprecated, installed, or stands in
// other channels, too. Everything here is a pure function.
package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/diagram"
	"github.com/gantry-mirror/gantry/pkg/suggest"
)

// Options say what a drawing tells beside the package itself.
type Options struct {
	// Kept is what a configuration keeps of the package, without any channel if
	// that is nothing. Nil where there is no configuration: then nothing is
	// marked as kept or pruned.
	Kept *catalog.Package
	// Account has the reasons why something is kept. It may be nil.
	Account *filter.Package
	// Installed is what clusters run of the package.
	Installed []graph.At
	// Channels are the names of those to be drawn, in this order; none means
	// all, the default channel first and then the newest by its name.
	Channels []string
}

// Draw makes a drawing of a package. A channel that it does not have is an error
// with the nearest names.
func Draw(p *catalog.Package, o Options) (diagram.Drawing, error) {
	channels, err := choose(p, o.Channels)
	if err != nil {
		return diagram.Drawing{}, err
	}
	s := newSketch(p, o)
	d := diagram.Drawing{Title: p.Name, Marks: marks(), Kinds: kinds()}
	for _, c := range channels {
		d.Graphs = append(d.Graphs, s.channel(c))
	}
	d.Notes = s.notes(channels)
	return d, nil
}

// choose returns the channels to be drawn.
func choose(p *catalog.Package, names []string) ([]*catalog.Channel, error) {
	if len(names) == 0 {
		channels := slices.Clone(p.Channels)
		slices.SortStableFunc(channels, func(a, b *catalog.Channel) int {
			if first := rank(b.Name == p.DefaultChannel) - rank(a.Name == p.DefaultChannel); first != 0 {
				return first
			}
			return natural(b.Name, a.Name)
		})
		return channels, nil
	}
	var channels []*catalog.Channel
	for _, name := range names {
		c := p.Channel(name)
		if c == nil {
			return nil, unknownChannel(p, name)
		}
		if !slices.Contains(channels, c) {
			channels = append(channels, c)
		}
	}
	return channels, nil
}

func rank(first bool) int {
	if first {
		return 1
	}
	return 0
}

// natural compares names so that numbers in them count: v1.9 is before v1.10.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			n, m := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(n), len(m)), cmp.Compare(n, m)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many digits a text begins with.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

func unknownChannel(p *catalog.Package, name string) error {
	var all []string
	for _, c := range p.Channels {
		all = append(all, c.Name)
	}
	if near := suggest.Nearest(name, all); len(near) > 0 {
		return fmt.Errorf("package %s has no channel %q; did you mean %s?", p.Name, name, strings.Join(near, ", "))
	}
	return fmt.Errorf("package %s has no channel %q; it has %s", p.Name, name, strings.Join(all, ", "))
}

// A sketch is what the channels of a package have in common.
type sketch struct {
	pkg        *catalog.Package
	options    Options
	bundles    map[string]*catalog.Bundle
	channelsOf map[string][]string                // of a bundle, sorted
	deprecated map[catalog.Deprecation]string     // messages; keys have none
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

// deprecation is the message of what is deprecated.
func (s *sketch) deprecation(schema, name string) (string, bool) {
	message, ok := s.deprecated[catalog.Deprecation{Schema: schema, Name: name}]
	return message, ok
}

// runs reports whether a cluster runs the bundle of that name; a bundle that is
// known by its version only is every one of that version.
func (s *sketch) runs(name string) bool {
	b := s.bundles[name]
	return slices.ContainsFunc(s.options.Installed, func(at graph.At) bool {
		if at.Name != "" {
			return at.Name == name
		}
		return b != nil && b.VersionErr == nil && b.Version.Equals(at.Version) && b.Release == at.Release
	})
}
