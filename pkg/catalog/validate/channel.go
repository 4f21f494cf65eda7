package validate

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// channels checks the channels of a package and returns their names.
func (r *report) channels(p *catalog.Package) map[string]bool {
	bundles := make(map[string]bool, len(p.Bundles))
	for _, b := range p.Bundles {
		bundles[b.Name] = true
	}
	names := map[string]bool{}
	for _, c := range p.Channels {
		switch {
		case c.Name == "":
			r.add(ChannelName, c.Meta, "package %q has a channel without a name", p.Name)
			continue
		case names[c.Name]:
			r.add(ChannelDuplicate, c.Meta, "package %q has a duplicate channel %q", p.Name, c.Name)
			continue
		case len(c.Entries) == 0:
			r.add(ChannelEmpty, c.Meta, "package %q, channel %q has no entries", p.Name, c.Name)
		default:
			r.entries(c, bundles)
		}
		names[c.Name] = true
	}
	return names
}

// entries checks the entries of a channel and their update graph.
func (r *report) entries(c *catalog.Channel, bundles map[string]bool) {
	seen := make(map[string]bool, len(c.Entries))
	twice := false
	for i, e := range c.Entries {
		if seen[e.Name] {
			r.add(EntryDuplicate, c.Meta, "package %q, channel %q has a duplicate entry %q", c.Package, c.Name, e.Name)
			twice = true
			continue
		}
		seen[e.Name] = true
		switch {
		case e.Name == "":
			r.add(EntryBundle, c.Meta, "package %q, channel %q: entries[%d] has no name", c.Package, c.Name, i)
		case !bundles[e.Name]:
			r.add(EntryBundle, c.Meta, "package %q, channel %q: there is no olm.bundle for the entry %q", c.Package, c.Name, e.Name)
		}
		for i, skip := range e.Skips {
			if skip == "" {
				r.add(EntrySkip, c.Meta, "package %q, channel %q, entry %q: skips[%d] is empty", c.Package, c.Name, e.Name, i)
			}
		}
		if e.SkipRange != "" {
			if _, err := graph.ParseRange(e.SkipRange); err != nil {
				r.add(EntrySkipRange, c.Meta, "package %q, channel %q, entry %q: skipRange %q is not a range: %v", c.Package, c.Name, e.Name, e.SkipRange, err)
			}
		}
	}
	if !twice { // otherwise it is unknown which duplicate counts
		r.shape(c, graph.Inspect(c.Entries))
	}
}

// shape checks the update graph of a channel.
func (r *report) shape(c *catalog.Channel, s graph.Shape) {
	switch {
	case len(s.Heads) == 0:
		r.add(ChannelHeads, c.Meta, "package %q, channel %q has no head: every entry is replaced or skipped by another", c.Package, c.Name)
	case len(s.Heads) > 1:
		r.add(ChannelHeads, c.Meta, "package %q, channel %q has %d heads, entries that no other replaces or skips: %s",
			c.Package, c.Name, len(s.Heads), strings.Join(s.Heads, ", "))
	case len(s.Cycle) > 0:
		r.add(ChannelCycle, c.Meta, "package %q, channel %q: entries replace each other in a cycle: %s",
			c.Package, c.Name, strings.Join(s.Cycle, " -> "))
	case len(s.Stranded) > 0:
		r.add(ChannelStranded, c.Meta, "package %q, channel %q: entries that are neither reachable from the head %q by replaces nor skipped: %s",
			c.Package, c.Name, s.Heads[0], strings.Join(s.Stranded, ", "))
	}
}
