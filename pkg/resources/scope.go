package resources

import (
	"slices"
	"strings"
)

// A repository is one source repository with all its pulls.
type repository struct {
	name      string
	mirrors   [2][]string // mirror repositories of pulls by tag [0] and by digest [1]
	kinds     [2][]string
	namespace string // the name without its last component; "" if that is the host
	parents   string // the joined mirror namespaces if an entry for the namespace can serve it, else ""
}

// An entry is one source of the mirror sets, with the mirrors for pulls by tag [0] and by digest
// [1] and the kinds of set that need it.
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

// chooseScopes returns the sources, sorted, that redirect every pull to its mirror repositories.
//
// As with `oc mirror`, a source is a namespace ("quay.io/org") if the paths in the mirror end like
// those of the source, and otherwise one repository. An entry overrides shorter entries for all
// pulls below it, by tag and by digest, even if it has mirrors for only one of them. Therefore each
// repository has one entry for both, and a namespace is not used if
//
//   - it is an entire host: the entry would capture what was never mirrored,
//   - it is itself a repository that is pulled: the entry would apply to that repository,
//   - it contains a mirror repository, which must not be redirected or, with NeverContactSource, blocked.
//
// Repositories whose mirror differs from most of their namespace get entries of their own, which
// are longer and take precedence.
func chooseScopes(pulls []pull) []entry {
	repositories := readRepositories(pulls)
	shared := map[string]string{} // namespace -> the mirrors of most of its repositories
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
		for _, mirror := range p.mirrors {
			for ns := mirror; ns != ""; ns = parent(ns) {
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
		for i, mirrors := range r.mirrors {
			for _, mirror := range mirrors {
				if viaNamespace {
					mirror = parent(mirror)
				}
				if mirror == source {
					continue // the source itself is tried last anyway
				}
				e.mirrors[i] = insert(e.mirrors[i], mirror)
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
		for _, mirror := range p.mirrors {
			r.mirrors[i] = insert(r.mirrors[i], mirror)
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

// namespaceMirrors returns the mirrors that an entry for r's namespace would need, as one string,
// or "" if such an entry cannot serve r.
func namespaceMirrors(r *repository) string {
	if !strings.Contains(r.namespace, "/") {
		return ""
	}
	_, path, _ := strings.Cut(r.name, "/")
	var joined []string
	for _, mirrors := range r.mirrors {
		var parents []string
		for _, mirror := range mirrors {
			if !strings.HasSuffix(mirror, "/"+path) {
				return ""
			}
			parents = append(parents, parent(mirror))
		}
		if len(parents) > 0 {
			joined = append(joined, strings.Join(parents, " "))
		}
	}
	if len(slices.Compact(joined)) != 1 {
		return "" // the mirrors of tags differ from those of digests
	}
	return joined[0]
}

// parent returns a location without its last component, or "" for a host.
func parent(location string) string {
	i := strings.LastIndex(location, "/")
	if i < 0 {
		return ""
	}
	return location[:i]
}
