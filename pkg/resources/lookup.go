package resources

import (
	"fmt"
	"slices"
	"strings"
)

const neverContactSource = "NeverContactSource"

// lookUp walks a pull through entries as a node does with the registries.conf
// that is made of them, and says what is wrong; "" means that it ends at a place
// of the pull.
//
// The rules are those of containers-registries.conf(5): the longest source that
// matches decides alone, its mirrors are asked in order, those of the other
// kind of pull left out, then the source; with NeverContactSource every name
// whose longest source is such an entry is refused, also as a mirror.
func lookUp(p pull, entries []entry, tags map[content]bool, policy string) string {
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
			if slices.Contains(p.places, location) {
				blocked = blocking.source
			}
		case slices.Contains(p.places, location):
			return ""
		case !p.byDigest && tags[content{location, p.id}]:
			return fmt.Sprintf("%s:%s is asked first and is another image", location, p.id)
		}
	}
	if blocked != "" {
		return fmt.Sprintf("%s is the source of a mirror set with %s, which blocks what stands below it", blocked, neverContactSource)
	}
	return fmt.Sprintf("the mirror sets lead to %s", strings.Join(locations, ", "))
}

// longest is the entry with the longest source that is name or a folder above
// it, or nil.
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
