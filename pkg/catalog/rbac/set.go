package rbac

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// Cluster is the namespace of permissions in all namespaces and on objects without one.
const Cluster = ""

// A Set has permissions by namespace. The zero value is an empty set.
type Set struct {
	namespaces map[string]map[Permission]bool
}

// Add adds permissions in a namespace, or Cluster.
func (s *Set) Add(namespace string, permissions ...Permission) {
	if s.namespaces == nil {
		s.namespaces = map[string]map[Permission]bool{}
	}
	in := s.namespaces[namespace]
	if in == nil {
		in = map[Permission]bool{}
		s.namespaces[namespace] = in
	}
	for _, p := range permissions {
		in[p] = true
	}
}

// Namespaces returns the namespaces of the set, sorted: Cluster first.
func (s *Set) Namespaces() []string { return slices.Sorted(maps.Keys(s.namespaces)) }

// Permissions returns the permissions in a namespace, sorted.
func (s *Set) Permissions(namespace string) []Permission {
	return elements.Sorted(maps.Keys(s.namespaces[namespace]), Permission.Compare)
}

// Without returns what a set has and rules do not permit. Those in Cluster permit in all namespaces.
func (s *Set) Without(rules map[string][]Rule) *Set {
	missing := &Set{}
	for namespace, needs := range s.namespaces {
		have := rules[Cluster]
		if namespace != Cluster {
			have = slices.Concat(have, rules[namespace])
		}
		for p := range needs {
			if !slices.ContainsFunc(have, func(r Rule) bool { return r.Permits(p) }) {
				missing.Add(namespace, p)
			}
		}
	}
	return missing
}

// Roles returns rules for each namespace that permit what the set has, and nothing else. No rule and no
// part of a rule is redundant: a permission that others include is left out. Namespaces that need no
// rules of their own are left out.
func (s *Set) Roles() map[string][]Rule {
	least := map[string]map[Permission]bool{}
	for _, namespace := range s.Namespaces() { // Cluster is the first
		kept := maps.Clone(s.namespaces[namespace])
		for _, p := range s.Permissions(namespace) {
			if covered(p, kept) || namespace != Cluster && (least[Cluster][p] || covered(p, least[Cluster])) {
				delete(kept, p)
			}
		}
		least[namespace] = kept
	}
	roles := map[string][]Rule{}
	for namespace, permissions := range least {
		if rules := group(permissions); len(rules) > 0 {
			roles[namespace] = rules
		}
	}
	return roles
}

// covered reports whether another permission of the set includes p.
func covered(p Permission, in map[Permission]bool) bool {
	if p.URL != "" {
		for q := range in {
			if q != p && q.URL != "" && (q.Verb == all || q.Verb == p.Verb) && coversURL(q.URL, p.URL) {
				return true
			}
		}
		return false
	}
	resources := []string{p.Resource, all}
	if _, sub, ok := strings.Cut(p.Resource, "/"); ok {
		resources = append(resources, all+"/"+sub)
	}
	for _, verb := range []string{p.Verb, all} {
		for _, group := range []string{p.Group, all} {
			for _, resource := range resources {
				for _, name := range []string{p.Name, ""} {
					q := Permission{Verb: verb, Group: group, Resource: resource, Name: name}
					if q != p && in[q] {
						return true
					}
				}
			}
		}
	}
	return false
}

// A part is some permissions as a rule, with its lists in one text each, so that parts can be compared.
type part struct{ verbs, group, resources, names, urls string }

// group writes permissions as few rules, sorted. Each step joins what differs in one list only, so that
// a rule never permits more.
func group(permissions map[Permission]bool) []Rule {
	parts := map[part]bool{}
	for p := range permissions {
		parts[part{verbs: p.Verb, group: p.Group, resources: p.Resource, names: p.Name, urls: p.URL}] = true
	}
	parts = join(parts, func(p *part) *string { return &p.verbs })
	// A rule for any name and one for some names are different rules.
	named, anyName := map[part]bool{}, map[part]bool{}
	for p := range parts {
		if p.names == "" {
			anyName[p] = true
		} else {
			named[p] = true
		}
	}
	parts = join(named, func(p *part) *string { return &p.names })
	maps.Copy(parts, anyName)
	parts = join(parts, func(p *part) *string { return &p.resources })
	parts = join(parts, func(p *part) *string { return &p.urls })

	var rules []Rule
	for p := range parts {
		r := Rule{Verbs: strings.Split(p.verbs, separator)}
		if p.urls != "" {
			r.NonResourceURLs = strings.Split(p.urls, separator)
		} else {
			r.APIGroups, r.Resources = []string{p.group}, strings.Split(p.resources, separator)
		}
		if p.names != "" {
			r.ResourceNames = strings.Split(p.names, separator)
		}
		rules = append(rules, r)
	}
	elements.Sort(rules, func(a, b Rule) int {
		return cmp.Or(
			slices.Compare(a.NonResourceURLs, b.NonResourceURLs), slices.Compare(a.APIGroups, b.APIGroups),
			slices.Compare(a.Resources, b.Resources), slices.Compare(a.ResourceNames, b.ResourceNames), slices.Compare(a.Verbs, b.Verbs),
		)
	})
	return rules
}

// separator is between the texts of a list. Names of Kubernetes cannot have it.
const separator = "\x00"

// join joins parts that differ in one list only.
func join(parts map[part]bool, field func(*part) *string) map[part]bool {
	values := map[part][]string{}
	for p := range parts {
		rest := p
		*field(&rest) = ""
		values[rest] = append(values[rest], *field(&p))
	}
	joined := map[part]bool{}
	for rest, texts := range values {
		slices.Sort(texts)
		*field(&rest) = strings.Join(texts, separator)
		joined[rest] = true
	}
	return joined
}
