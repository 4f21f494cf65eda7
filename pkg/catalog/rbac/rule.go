// Package rbac decides what roles permit, by the rules of Kubernetes.
//
// A [Rule] is a rule of a Role or ClusterRole. [Rule.Permissions] splits it into its smallest parts:
// one verb on one resource, with one name or any. [Rule.Permits] compares as the RBAC authorizer and
// as its protection against escalation do, which agree on single permissions: a request needs
// exactly one, and a role may be granted if each of its permissions is held.
//
// A [Set] is what an account needs, cluster-wide and by namespace. [Set.Roles] writes it as the
// fewest rules that permit this and nothing more: without any one of them something is missing.
// [Read] reads roles and bindings from manifests, and [Policy.Missing] returns what they do not
// permit.
//
// The rules are those of Kubernetes (pkg/apis/rbac/v1/evaluation_helpers.go,
// k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go). The package does no I/O.
package rbac

import (
	"cmp"
	"slices"
	"strings"
)

// all matches everything in its place.
const all = "*"

// A Rule is a PolicyRule of rbac.authorization.k8s.io/v1. The order of the members is the one in
// which Kubernetes encodes them.
type Rule struct {
	Verbs           []string `json:"verbs" yaml:"verbs,flow"`
	APIGroups       []string `json:"apiGroups,omitempty" yaml:"apiGroups,omitempty,flow"`
	Resources       []string `json:"resources,omitempty" yaml:"resources,omitempty,flow"`
	ResourceNames   []string `json:"resourceNames,omitempty" yaml:"resourceNames,omitempty,flow"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" yaml:"nonResourceURLs,omitempty,flow"`
}

// A Permission is one verb on one resource or URL. Each of its members may be "*".
type Permission struct {
	Verb, Group string
	Resource    string // may have a subresource: "deployments/scale"
	Name        string // of one object; "" is any
	URL         string // if not "", Group, Resource and Name are empty
}

// Permissions returns what a rule permits. Empty names are left out: no object has one, and they must not
// count as any name.
func (r Rule) Permissions() []Permission {
	var list []Permission
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	} else {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	}
	for _, verb := range r.Verbs {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, name := range names {
					list = append(list, Permission{Verb: verb, Group: group, Resource: resource, Name: name})
				}
			}
		}
		for _, url := range r.NonResourceURLs {
			if url != "" {
				list = append(list, Permission{Verb: verb, URL: url})
			}
		}
	}
	return list
}

// Permits reports whether a rule permits p. "*" in p is permitted only by "*".
func (r Rule) Permits(p Permission) bool {
	if !anyOf(r.Verbs, p.Verb) {
		return false
	}
	if p.URL != "" {
		return slices.ContainsFunc(r.NonResourceURLs, func(url string) bool { return coversURL(url, p.URL) })
	}
	return anyOf(r.APIGroups, p.Group) &&
		slices.ContainsFunc(r.Resources, func(have string) bool { return coversResource(have, p.Resource) }) &&
		(len(r.ResourceNames) == 0 || p.Name != "" && slices.Contains(r.ResourceNames, p.Name))
}

// anyOf reports whether a list has the text, or everything.
func anyOf(list []string, text string) bool {
	return slices.Contains(list, all) || slices.Contains(list, text)
}

func coversResource(have, want string) bool {
	_, sub, ok := strings.Cut(want, "/")
	return have == all || have == want || ok && have == all+"/"+sub
}

func coversURL(have, want string) bool {
	prefix, ok := strings.CutSuffix(have, all)
	return have == want || ok && strings.HasPrefix(want, strings.TrimRight(prefix, all))
}

// Compare orders permissions by resource, then name and verb. Those of URLs come last.
func (p Permission) Compare(q Permission) int {
	return cmp.Or(
		strings.Compare(p.URL, q.URL),
		strings.Compare(p.Group, q.Group), strings.Compare(p.Resource, q.Resource),
		strings.Compare(p.Name, q.Name), strings.Compare(p.Verb, q.Verb),
	)
}
