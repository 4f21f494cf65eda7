package diff

import (
	"maps"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// maxEdges is the maximum number of edges in a Diff. A channel of n entries with skipRange may have
// n² edges.
const maxEdges = 100_000

// versions are the versions of a package's bundles in both catalogs, by bundle.
type versions struct {
	before, after map[string]semver.Version
}

// newVersions returns the versions of a package's bundles.
func newVersions(before, after *catalog.Package) versions {
	v := versions{map[string]semver.Version{}, map[string]semver.Version{}}
	read := func(p *catalog.Package, into map[string]semver.Version) {
		for _, b := range p.Bundles {
			if _, twice := into[b.Name]; !twice && b.VersionErr == nil {
				into[b.Name] = b.Version
			}
		}
	}
	read(before, v.before)
	read(after, v.after)
	return v
}

// edges compares the edges of a channel that both catalogs have. They start at bundles that entries
// replace or skip and, by skipRange, at every entry of the channel in either catalog, since a
// cluster may run a bundle that one of them does not have. Other bundles of the package are
// ignored, because there would be too many.
func (d *Diff) edges(before, after *catalog.Channel, v versions, moved []string) {
	old, now := byName(before.Entries), byName(after.Entries)
	all := maps.Clone(old)
	maps.Copy(all, now)
	names := slices.Sorted(maps.Keys(all))
	moved = slices.DeleteFunc(slices.Clone(moved), func(name string) bool { _, ok := all[name]; return !ok })

	for _, to := range names {
		was, hadIt := old[to]
		is, hasIt := now[to]
		from := moved // only a changed version of these bundles can affect an unchanged entry
		if !hadIt || !hasIt || !sameEdges(was, is) {
			// A bundle that one entry names and that is in the skipRange of the other keeps its
			// edge.
			from = slices.Concat(names, []string{was.Replaces, is.Replaces}, was.Skips, is.Skips)
		} else if len(from) == 0 {
			continue
		}
		removed, added := map[string]By{}, map[string]By{}
		if hadIt {
			removed = into(was, from, v.before, v.after)
		}
		if hasIt {
			added = into(is, from, v.after, v.before)
		}
		offered := maps.Clone(removed)
		maps.Copy(offered, added)
		for _, name := range slices.Sorted(maps.Keys(offered)) {
			e := Edge{Package: before.Package, Channel: before.Name, From: name, To: to, By: offered[name]}
			switch _, stays := removed[name]; {
			case !stays:
				e.Change = Added
			case added[name] == "":
				e.Change = Removed
			default:
				continue
			}
			if len(d.Edges) == maxEdges {
				d.EdgesOmitted++
				continue
			}
			d.Edges = append(d.Edges, e)
		}
	}
}

// into returns the bundles from which an entry is an update: those that it names, and those of the
// list from whose version is in its skipRange. The version is that in the catalog of the entry, or
// else in the other catalog.
func into(e catalog.Entry, from []string, here, there map[string]semver.Version) map[string]By {
	found := map[string]By{}
	if inRange, err := graph.Range(e); err == nil && e.SkipRange != "" {
		for _, name := range from {
			version, known := here[name]
			if !known {
				version, known = there[name]
			}
			if known && inRange(version) {
				found[name] = BySkipRange
			}
		}
	}
	for _, name := range e.Skips {
		found[name] = BySkips
	}
	if e.Replaces != "" {
		found[e.Replaces] = ByReplaces
	}
	delete(found, e.Name)
	delete(found, "")
	return found
}

// byName returns entries by name. Of several with the same name, which no valid channel has, it
// returns the first.
func byName(entries []catalog.Entry) map[string]catalog.Entry {
	found := make(map[string]catalog.Entry, len(entries))
	for _, e := range entries {
		if _, twice := found[e.Name]; !twice {
			found[e.Name] = e
		}
	}
	return found
}

// sameEdges reports whether two entries have edges from the same bundles by the same members.
func sameEdges(a, b catalog.Entry) bool {
	return a.Replaces == b.Replaces && a.SkipRange == b.SkipRange &&
		(slices.Equal(a.Skips, b.Skips) || slices.Equal(slices.Sorted(slices.Values(a.Skips)), slices.Sorted(slices.Values(b.Skips))))
}
