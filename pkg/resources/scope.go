package resources

import (
	"slices"
	"strings"
)

// A repository is everything that is known of one source repository.
type repository struct {
	name      string
	places    [2][]string // mirror repositories of pulls by tag [0] and by digest [1]
	kinds     [2][]string
	namespace string // the name without its last component; "" where that is the host
	parents   string // the mirror namespaces, joined, if namespace scope would do; else ""
}

// An entry is one source of the mirror sets with the mirrors for pulls by tag
// [0] and by digest [1], and the kinds of set that need it.
type entry struct {
	source  string
	mirrors [2][]string
	kinds   [2][]string
}

func index(byDigest bool) int {
	if byDigest {
		return 1
	}
	return 0
}

// chooseScopes returns the sources that lead every pull to its places, sorted.
//
// As with `oc mirror`, a source is a namespace ("quay.io/org") where the paths
// in the mirror end like those of the source, and else one repository. An
// entry takes all pulls below it away from shorter ones, by tag and by digest,
// also where it has mirrors for only one of them. Therefore each repository
// has one entry for both, and a namespace is not used where
//
//   - it is the whole host: that would capture what was never mirrored,
//   - it is itself a repository that is pulled: the entry would be that one's,
//   - it holds a place of the mirror, which may not be redirected or, with
//     NeverContactSource, blocked.
//
// Repositories of a namespace that stand elsewhere than most of it get entries
// of their own, which are longer and win.
func chooseScopes(pulls []pull) []entry {
	repositories := readRepositories(pulls)
	shared := map[string]string{} // namespace -> the mirrors most of it has
	votes := map[string]map[string]int{}
	for _, r := range repositories {
		if r.parents == "" || repositories[r.namespace] != nil {
			continue
		}
		if votes[r.namespace] == nil {
			votes[r.namespace] = map[string]int{}
		}
		votes[r.namespace][r.parents]++
	}
	for _, p := range pulls {
		for _, place := range p.places {
			for ns := place; ns != ""; ns = parent(ns) {
				delete(votes, ns)
			}
		}
	}
	for ns, count := range votes {
		for parents, n := range count {
			best := shared[ns]
			if n > count[best] || n == count[best] && parents < best {
				shared[ns] = parents
			}
		}
	}

	entries := map[string]*entry{}
	for _, name := range sortedKeys(repositories) {
		r := repositories[name]
		source := r.name
		viaNamespace := r.parents != "" && shared[r.namespace] == r.parents
		if viaNamespace {
			source = r.namespace
		}
		e := entries[source]
		if e == nil {
			e = &entry{source: source}
			entries[source] = e
		}
		for i, places := range r.places {
			for _, place := range places {
				if viaNamespace {
					place = parent(place)
				}
				if place == source {
					continue // the source itself is asked last anyway
				}
				e.mirrors[i] = insert(e.mirrors[i], place)
				for _, kind := range r.kinds[i] {
					e.kinds[i] = insert(e.kinds[i], kind)
				}
			}
		}
	}
	var list []entry
	for _, source := range sortedKeys(entries) {
		if e := entries[source]; len(e.mirrors[0])+len(e.mirrors[1]) > 0 {
			list = append(list, *e)
		}
	}
	return list
}

// readRepositories groups pulls by source repository.
func readRepositories(pulls []pull) map[string]*repository {
	repositories := map[string]*repository{}
	for _, p := range pulls {
		r := repositories[p.name]
		if r == nil {
			r = &repository{name: p.name, namespace: parent(p.name)}
			repositories[p.name] = r
		}
		i := index(p.byDigest)
		for _, place := range p.places {
			r.places[i] = insert(r.places[i], place)
		}
		for _, kind := range p.kinds {
			r.kinds[i] = insert(r.kinds[i], kind)
		}
	}
	for _, r := range repositories {
		r.parents = namespaceMirrors(r)
	}
	return repositories
}

// namespaceMirrors is the mirrors that an entry for r's namespace would need,
// as one string, or "" where such an entry cannot serve r.
func namespaceMirrors(r *repository) string {
	if !strings.Contains(r.namespace, "/") {
		return ""
	}
	_, path, _ := strings.Cut(r.name, "/")
	var joined []string
	for _, places := range r.places {
		var parents []string
		for _, place := range places {
			if !strings.HasSuffix(place, "/"+path) {
				return ""
			}
			parents = append(parents, parent(place))
		}
		if len(parents) > 0 {
			joined = append(joined, strings.Join(parents, " "))
		}
	}
	if len(slices.Compact(joined)) != 1 {
		return "" // tags stand elsewhere than digests
	}
	return joined[0]
}

// parent is a location without its last component, or "" for a host.
func parent(location string) string {
	i := strings.LastIndex(location, "/")
	if i < 0 {
		return ""
	}
	return location[:i]
}
