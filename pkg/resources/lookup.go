package resources

import (
	"fmt"
	"slices"
	"strings"
)

const neverContactSource = "NeverContactSource"

// lookUp resolves a pull through entries as a node does with the registries.conf made from them. It
// returns the problem, or "" if the pull reaches one of its mirror repositories.
//
// The rules are those of containers-registries.conf(5): the longest matching source alone decides.
// Its mirrors for this kind of pull are tried in order, then the source. With NeverContactSource,
// every name whose longest source is such an entry is refused, also as a mirror.
func lookUp(p pull, entries []entry, tags map[tagName]bool, policy string) string {
	e := longest(p.name, entries)
	locations := []string{p.name}
	if e != nil {
		locations = nil
		for _, mirror := range e.mirrors[index(p.byDigest)] {
			locations = append(locations, mirror+strings.TrimPrefix(p.name, e.source))
		}
		locations = append(locations, p.name)
	}
	var blocked string
	for _, location := range locations {
		blocking := longest(location, entries)
		switch {
		case policy == neverContactSource && blocking != nil:
			if slices.Contains(p.mirrors, location) {
				blocked = blocking.source
			}
		case slices.Contains(p.mirrors, location):
			return ""
		case !p.byDigest && tags[tagName{location, p.id}]:
			return fmt.Sprintf("%s:%s is tried first and is another image", location, p.id)
		}
	}
	if blocked != "" {
		return fmt.Sprintf("%s is the source of a mirror set with %s, which blocks everything below it", blocked, neverContactSource)
	}
	return fmt.Sprintf("the mirror sets lead to %s", strings.Join(locations, ", "))
}

// longest returns the entry with the longest source that is name or one of its parents, or nil.
func longest(name string, entries []entry) *entry {
	for at := name; at != ""; at = parent(at) {
		i, found := slices.BinarySearchFunc(entries, at, func(e entry, source string) int {
			return strings.Compare(e.source, source)
		})
		if found {
			return &entries[i]
		}
	}
	return nil
}
