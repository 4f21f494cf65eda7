package rbac

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestPermits(t *testing.T) {
	t.Parallel()
	on := func(verbs, groups, resources string, names ...string) Rule {
		split := func(s string) []string { return strings.Split(s, ",") }
		return Rule{Verbs: split(verbs), APIGroups: split(groups), Resources: split(resources), ResourceNames: names}
	}
	for _, tc := range []struct {
		name string
		rule Rule
		want Permission
		ok   bool
	}{
		{"exact", on("get", "apps", "deployments"), Permission{Verb: "get", Group: "apps", Resource: "deployments"}, true},
		{"one of several", on("list,get", ",apps", "pods,deployments"), Permission{Verb: "get", Group: "apps", Resource: "deployments", Name: "x"}, true},
		{"other verb", on("get", "apps", "deployments"), Permission{Verb: "list", Group: "apps", Resource: "deployments"}, false},
		{"other group", on("get", "apps", "deployments"), Permission{Verb: "get", Group: "", Resource: "deployments"}, false},
		{"core group", on("get", "", "pods"), Permission{Verb: "get", Resource: "pods"}, true},
		{"any verb", on("*", "apps", "deployments"), Permission{Verb: "escalate", Group: "apps", Resource: "deployments"}, true},
		{"any group", on("get", "*", "deployments"), Permission{Verb: "get", Group: "apps", Resource: "deployments"}, true},
		{"any resource", on("get", "apps", "*"), Permission{Verb: "get", Group: "apps", Resource: "deployments/scale"}, true},
		{"star needs star", on("get,list,watch", "apps", "deployments"), Permission{Verb: "*", Group: "apps", Resource: "deployments"}, false},
		{"resource does not include subresource", on("get", "apps", "deployments"), Permission{Verb: "get", Group: "apps", Resource: "deployments/scale"}, false},
		{"subresource does not include resource", on("get", "apps", "deployments/scale"), Permission{Verb: "get", Group: "apps", Resource: "deployments"}, false},
		{"subresource of any", on("get", "apps", "*/scale"), Permission{Verb: "get", Group: "apps", Resource: "deployments/scale"}, true},
		{"other subresource of any", on("get", "apps", "*/scale"), Permission{Verb: "get", Group: "apps", Resource: "deployments/status"}, false},
		{"name", on("get", "", "secrets", "a", "b"), Permission{Verb: "get", Resource: "secrets", Name: "b"}, true},
		{"other name", on("get", "", "secrets", "a"), Permission{Verb: "get", Resource: "secrets", Name: "b"}, false},
		{"any name needs a rule without names", on("get", "", "secrets", "a"), Permission{Verb: "get", Resource: "secrets"}, false},
		{"names are not patterns", on("get", "", "secrets", "*"), Permission{Verb: "get", Resource: "secrets", Name: "b"}, false},
		{"an empty name is not any name", on("get", "", "secrets", ""), Permission{Verb: "get", Resource: "secrets"}, false},
		{"URL", Rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}, Permission{Verb: "get", URL: "/metrics"}, true},
		{"other URL", Rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}, Permission{Verb: "get", URL: "/metrics/x"}, false},
		{"URL by prefix", Rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics/*"}}, Permission{Verb: "get", URL: "/metrics/x"}, true},
		{"any URL", Rule{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}, Permission{Verb: "post", URL: "/healthz"}, true},
		{"star in a URL is only at its end", Rule{Verbs: []string{"get"}, NonResourceURLs: []string{"/*/x"}}, Permission{Verb: "get", URL: "/a/x"}, false},
		{"resources are not URLs", on("*", "*", "*"), Permission{Verb: "get", URL: "/metrics"}, false},
		{"URLs are not resources", Rule{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}, Permission{Verb: "get", Resource: "pods"}, false},
		{"no groups, no permission", Rule{Verbs: []string{"get"}, Resources: []string{"pods"}}, Permission{Verb: "get", Resource: "pods"}, false},
	} {
		fail.Diff(t, tc.ok, tc.rule.Permits(tc.want))
	}
}

func TestEmptyNames(t *testing.T) {
	t.Parallel()
	r := Rule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"", "a"}}
	fail.Diff(t, []Permission{{Verb: "get", Resource: "secrets", Name: "a"}}, r.Permissions())
}

func setOf(namespaces map[string][]Rule) *Set {
	var s Set
	for namespace, rules := range namespaces {
		for _, r := range rules {
			s.Add(namespace, r.Permissions()...)
		}
	}
	return &s
}

func TestRoles(t *testing.T) {
	t.Parallel()
	s := setOf(map[string][]Rule{
		Cluster: {
			{Verbs: []string{"watch", "list"}, APIGroups: []string{""}, Resources: []string{"services", "configmaps"}},
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"services"}, ResourceNames: []string{"b", "a"}},
			{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics/x", "/metrics/*"}},
			{Verbs: []string{"*"}, APIGroups: []string{"apps"}, Resources: []string{"*"}},
			{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{"x"}},
		},
		"here": {
			{Verbs: []string{"create", "list"}, APIGroups: []string{""}, Resources: []string{"services"}},
			{Verbs: []string{"create"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
		},
		"covered": {{Verbs: []string{"create"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}}},
	})
	want := map[string][]Rule{
		Cluster: {
			{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps", "services"}},
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"services"}, ResourceNames: []string{"a", "b"}},
			{Verbs: []string{"*"}, APIGroups: []string{"apps"}, Resources: []string{"*"}},
			{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics/*"}},
		},
		"here": {{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"services"}}},
	}
	fail.Diff(t, want, s.Roles())
}

func isEmpty(s *Set) bool { return len(s.Namespaces()) == 0 }

// Roles of any set permit the whole set, nothing else, and no verb, resource, name or rule of them can
// be left out.
func TestRolesAreLeast(t *testing.T) {
	t.Parallel()
	const seed = 16
	random := rand.New(rand.NewPCG(seed, seed))
	pick := func(from ...string) []string {
		list := elements.Filter(from, func(_ string) bool { return random.IntN(3) == 0 })
		return append(list, from[random.IntN(len(from))])
	}
	for round := range 100 {
		given := map[string][]Rule{}
		for range 1 + random.IntN(6) {
			namespace := []string{Cluster, "a", "b"}[random.IntN(3)]
			r := Rule{Verbs: pick("get", "list", "create", "*"), APIGroups: pick("", "apps", "*"), Resources: pick("pods", "pods/log", "*/log", "*", "jobs")}
			if random.IntN(2) == 0 {
				r.ResourceNames = pick("x", "y")
			}
			if namespace == Cluster && random.IntN(4) == 0 {
				r = Rule{Verbs: pick("get", "*"), NonResourceURLs: pick("/a", "/a/*", "*", "/a/b")}
			}
			given[namespace] = append(given[namespace], r)
		}
		needs := setOf(given)
		roles := needs.Roles()
		if missing := needs.Without(roles); !isEmpty(missing) {
			t.Fatalf("round %d: %v does not permit %v", round, roles, missing.Roles())
		}
		for namespace, rules := range roles {
			for _, r := range rules {
				for _, p := range r.Permissions() {
					if !needs.namespaces[namespace][p] {
						t.Errorf("round %d: %+v in %q is not needed", round, p, namespace)
					}
				}
			}
		}
		for what, smaller := range without(roles) {
			if isEmpty(needs.Without(smaller)) {
				t.Errorf("round %d: %s is not needed in %v", round, what, roles)
			}
		}
	}
}

// without returns the roles without each of their rules, and each of their rules without each of its
// verbs, resources and names.
func without(roles map[string][]Rule) map[string]map[string][]Rule {
	all := map[string]map[string][]Rule{}
	put := func(what, namespace string, rules []Rule) {
		changed := map[string][]Rule{Cluster: nil}
		maps.Copy(changed, roles)
		changed[namespace] = rules
		all[what] = changed
	}
	for namespace, rules := range roles {
		for i, r := range rules {
			put(fmt.Sprintf("rule %d of %q", i, namespace), namespace, slices.Delete(slices.Clone(rules), i, i+1))
			less := func(what string, list []string, set func(*Rule, []string)) {
				if len(list) < 2 { // then it is the whole rule, or all names
					return
				}
				for j, text := range list {
					smaller := r
					set(&smaller, slices.Delete(slices.Clone(list), j, j+1))
					changed := slices.Clone(rules)
					changed[i] = smaller
					put(fmt.Sprintf("%s %s of rule %d of %q", what, text, i, namespace), namespace, changed)
				}
			}
			less("verb", r.Verbs, func(r *Rule, list []string) { r.Verbs = list })
			less("resource", r.Resources, func(r *Rule, list []string) { r.Resources = list })
			less("name", r.ResourceNames, func(r *Rule, list []string) { r.ResourceNames = list })
			less("URL", r.NonResourceURLs, func(r *Rule, list []string) { r.NonResourceURLs = list })
		}
	}
	return all
}

const policy = `apiVersion: v1
kind: Namespace
metadata: {name: here}
---
apiVersion: v1
kind: List
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: reader, creationTimestamp: 2026-01-02T03:04:05Z}
  rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: writer, namespace: here}
  rules: [{verbs: [create], apiGroups: [""], resources: [pods]}]
---
# an empty document
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: all}
subjects: [{kind: ServiceAccount, name: everywhere, namespace: here}, {kind: Group, name: "system:serviceaccounts"}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
---
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "some", "namespace": "here"},
 "subjects": [{"kind": "ServiceAccount", "name": "local", "namespace": "here"}], "roleRef": {"kind": "ClusterRole", "name": "reader"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBindingList
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: own, namespace: here}
  subjects: [{kind: ServiceAccount, name: local, namespace: here}]
  roleRef: {kind: Role, name: writer}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: lost, namespace: here}
  subjects: [{kind: ServiceAccount, name: local, namespace: here}]
  roleRef: {kind: Role, name: reader}
`

func TestPolicy(t *testing.T) {
	t.Parallel()
	p, err := Read([]byte(policy))
	fail.On(t, err)
	everywhere, local := Account{"here", "everywhere"}, Account{"here", "local"}
	fail.Diff(t, []Account{everywhere, local}, p.Accounts())
	var needs Set
	get, create := Permission{Verb: "get", Resource: "pods", Name: "x"}, Permission{Verb: "create", Resource: "pods"}
	needs.Add("here", get, create)
	needs.Add("there", get, create)
	for _, tc := range []struct {
		account Account
		want    map[string][]Permission
		unknown []string
	}{
		{everywhere, map[string][]Permission{"here": {create}, "there": {create}}, nil},
		{local, map[string][]Permission{"there": {create, get}}, []string{"RoleBinding lost"}},
		{Account{"there", "local"}, map[string][]Permission{"here": {create, get}, "there": {create, get}}, nil},
	} {
		missing, unknown := p.Missing(tc.account, &needs)
		got := map[string][]Permission{}
		for _, namespace := range missing.Namespaces() {
			got[namespace] = missing.Permissions(namespace)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.account, diff)
		}
		if diff := cmp.Diff(tc.unknown, unknown); diff != "" {
			t.Errorf("%s: %s", tc.account, diff)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: n}\n"
	binding := "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b}\nroleRef: {kind: Role, name: r}\n"
	nested := `{"apiVersion": "v1", "kind": "List", "items": [`
	for _, tc := range []struct{ text, want string }{
		{"", "there is no Role"},
		{"apiVersion: v1\nkind: Pod\n", "there is no Role"},
		{"- a\n", "not an object of Kubernetes"},
		{"a: [", "did not find expected"},
		{strings.Replace(role, ", namespace: n", "", 1), "Role r has no namespace"},
		{role + "---\n" + binding, "RoleBinding b has no namespace"},
		{role + "---\n" + strings.Replace(binding, "RoleB", "ClusterRoleB", 1), "ClusterRoleBinding b binds the Role r"},
		{role + "---\n" + role, "two Roles n/r"},
		{role + "rules: all\n", "reading a Role"},
		{"? {a: b}\n: c\n", "invalid map key"},
		{strings.Repeat(nested, 6) + strings.Repeat("]}", 6), "nested too deep"},
	} {
		if _, err := Read([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got error %v, want %q", tc.text, err, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(policy))
	f.Add([]byte(`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Read(text)
		if err != nil {
			return
		}
		// What the rules of a role permit is permitted by them.
		for key, rules := range p.roles {
			only := &Policy{roles: map[roleKey][]Rule{key: rules}}
			if missing, _ := only.Missing(Account{}, setOf(map[string][]Rule{key.namespace: rules})); !isEmpty(missing) {
				t.Errorf("%v does not permit %v", rules, missing)
			}
		}
	})
}
