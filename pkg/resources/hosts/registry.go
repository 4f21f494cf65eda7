package hosts

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A registry is one source registry, as the runtimes see it that are configured by registry.
type registry struct {
	host string
	// endpoints are the prefixes of the mirror that containerd and Talos try in order.
	endpoints []endpoint
	// rules rewrite the names of repositories for K3s and RKE2. No name matches two of them, since their
	// order is undefined.
	rules []rule
}

// An endpoint is a prefix of names in the mirror: "ocp/", or "" for none. A mirror without tags is asked
// only for digests.
type endpoint struct {
	prefix string
	tags   bool
	pulls  int
}

// A rule is a regular expression for names of repositories, and their replacement.
type rule struct{ pattern, replacement string }

// readRegistries returns the registries of pulls, which are sorted. A registry that is blocked always has an
// endpoint, which is asked instead of it.
func readRegistries(pulls []pull, blocked bool) []registry {
	var all []registry
	for rest := pulls; len(rest) > 0; {
		end := slices.IndexFunc(rest, func(p pull) bool { return p.host != rest[0].host })
		if end < 0 {
			end = len(rest)
		}
		r := registry{host: rest[0].host, endpoints: endpoints(rest[:end]), rules: rules(rest[:end])}
		if blocked && len(r.endpoints) == 0 {
			r.endpoints = []endpoint{{tags: true}}
		}
		all = append(all, r)
		rest = rest[end:]
	}
	return all
}

// endpoints returns the prefixes under which the mirror has repositories by the name that they have in
// the source, those with most images first.
func endpoints(pulls []pull) []endpoint {
	found := map[string]*endpoint{}
	for _, p := range pulls {
		for _, mirror := range p.mirrors {
			prefix, ok := kept(p.path, mirror)
			if !ok {
				continue
			}
			if found[prefix] == nil {
				found[prefix] = &endpoint{prefix: prefix}
			}
			found[prefix].pulls++
			found[prefix].tags = found[prefix].tags || !p.byDigest
		}
	}
	var list []endpoint
	for _, e := range found {
		list = append(list, *e)
	}
	elements.Sort(list, func(a, b endpoint) int {
		return cmp.Or(cmp.Compare(b.pulls, a.pulls), strings.Compare(a.prefix, b.prefix))
	})
	return list
}

// tried returns the repositories of the mirror in which containerd looks for a pull.
func (r registry) tried(p pull) (repositories []string) {
	for _, e := range r.endpoints {
		if p.byDigest || e.tags {
			repositories = append(repositories, e.prefix+p.path)
		}
	}
	return repositories
}

// all returns the repositories of the mirror in which Talos looks for a pull.
func (r registry) all(p pull) (repositories []string) {
	return elements.Map(r.endpoints, func(e endpoint) string { return e.prefix + p.path })
}

// rules returns the rules that rewrite the repositories of pulls to those of the mirror.
//
// If all repositories get one prefix, one rule for the registry adds it. Otherwise each namespace, the
// first component of a name, whose repositories have one prefix shares a rule with others like it, and the
// repositories of other namespaces are listed by name. A repository that keeps its name needs no rule.
func rules(pulls []pull) []rule {
	repositories := map[string][]pull{}
	for _, p := range pulls {
		repositories[p.path] = append(repositories[p.path], p)
	}
	const mixed = "\x00" // not in any name
	namespaces := map[string]string{}
	whole := ""
	targets := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(repositories)) {
		targets[path] = target(repositories[path])
		prefix, ok := kept(path, targets[path])
		if !ok {
			prefix = mixed
		}
		if i == 0 {
			whole = prefix
		} else if whole != prefix {
			whole = mixed
		}
		// A repository without a namespace cannot share a rule: "name" matches no "^name/".
		namespace, _, nested := strings.Cut(path, "/")
		if before, known := namespaces[namespace]; !nested || known && before != prefix {
			prefix = mixed
		}
		namespaces[namespace] = prefix
	}
	if whole == "" {
		return nil
	}
	if whole != mixed {
		return []rule{{"^(.+)$", whole + "$1"}}
	}
	byPrefix := map[string][]string{} // quoted namespaces
	var list []rule
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		if prefix := namespaces[namespace]; prefix != mixed && prefix != "" {
			byPrefix[prefix] = append(byPrefix[prefix], quote(namespace))
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(byPrefix)) {
		list = append(list, rule{"^((?:" + strings.Join(byPrefix[prefix], "|") + ")/.+)$", prefix + "$1"})
	}
	for _, path := range slices.Sorted(maps.Keys(targets)) {
		namespace, _, _ := strings.Cut(path, "/")
		if namespaces[namespace] == mixed && targets[path] != path {
			list = append(list, rule{"^" + quote(path) + "$", targets[path]})
		}
	}
	return list
}

// quote returns an expression that matches a name. K3s copies expressions into strings of TOML without
// escaping, where a backslash would start an escape sequence:
// https://github.com/k3s-io/k3s/blob/master/pkg/agent/templates/templates.go
func quote(name string) string { return strings.ReplaceAll(name, ".", "[.]") }

// rewrite returns the function that rewrites the names of repositories as K3s does.
func (r registry) rewrite() (func(path string) string, error) {
	var expressions []*regexp.Regexp
	for _, rule := range r.rules {
		e, err := regexp.Compile(rule.pattern)
		if err != nil {
			return nil, err
		}
		expressions = append(expressions, e)
	}
	return func(path string) string {
		for i, e := range expressions {
			if e.MatchString(path) {
				return e.ReplaceAllString(path, r.rules[i].replacement)
			}
		}
		return path
	}, nil
}
