package diff

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// channels compares the channels of a package and their edges. moved are the bundles whose versions
// changed.
func (d *Diff) channels(pkg string, before, after *catalog.Package, moved []string) {
	versions := newVersions(before, after)
	for _, both := range pair(before.Channels, after.Channels, func(c *catalog.Channel) string { return c.Name }) {
		c := Channel{Change: both.change(), Package: pkg}
		old, now := both.before, both.after
		switch c.Change {
		case Added:
			c.Name, c.Head, c.EntriesAdded = now.Name, changed("", head(now)), entryNames(now)
		case Removed:
			c.Name, c.Head, c.EntriesRemoved = old.Name, changed(head(old), ""), entryNames(old)
		case Changed:
			c.Name = old.Name
			names := differing(old.Meta.Raw, now.Meta.Raw)
			if len(names) > 0 {
				c.detail(old, now, names)
			}
			if len(names) > 0 || len(moved) > 0 {
				d.edges(old, now, versions, moved)
			}
			if len(names) == 0 {
				continue
			}
		}
		d.Channels = append(d.Channels, c)
	}
}

// detail describes the differing members of a channel.
func (c *Channel) detail(old, now *catalog.Channel, names []string) {
	c.Members = names
	if !slices.Contains(names, "entries") {
		return
	}
	c.Head = changed(head(old), head(now))
	for _, both := range pair(pointers(old.Entries), pointers(now.Entries), func(e *catalog.Entry) string { return e.Name }) {
		switch both.change() {
		case Added:
			c.EntriesAdded = append(c.EntriesAdded, both.after.Name)
		case Removed:
			c.EntriesRemoved = append(c.EntriesRemoved, both.before.Name)
		case Changed:
			if !sameEdges(*both.before, *both.after) {
				c.EntriesChanged = append(c.EntriesChanged, both.before.Name)
			}
		}
	}
	if len(c.EntriesAdded)+len(c.EntriesRemoved)+len(c.EntriesChanged) > 0 {
		c.Members = without(names, "entries")
	}
}

// head returns the head of a channel, or its heads separated by ", ".
func head(c *catalog.Channel) string {
	return strings.Join(graph.Inspect(c.Entries).Heads, ", ")
}

// entryNames returns the names of a channel's entries, sorted.
func entryNames(c *catalog.Channel) []string {
	names := make([]string, len(c.Entries))
	for i, e := range c.Entries {
		names[i] = e.Name
	}
	slices.Sort(names)
	return names
}

// pointers returns pointers to the entries of a list.
func pointers(entries []catalog.Entry) []*catalog.Entry {
	list := make([]*catalog.Entry, len(entries))
	for i := range entries {
		list[i] = &entries[i]
	}
	return list
}
