package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// checkLeast checks that the roles of a result, read from its manifests, permit what is needed, and that each
// of their rules is needed: without it, something is missing. It returns the number of rules.
func checkLeast(t *testing.T, r *Result) (rules int) {
	t.Helper()
	if missing := unpermitted(t, r, r.Objects); len(missing.Namespaces()) > 0 {
		t.Errorf("permissions are missing: %v", missing.Roles())
	}
	roles := r.Needs.Roles()
	for namespace, list := range roles {
		for at, rule := range list {
			// Whatever the rule does not permit has not changed.
			var by rbac.Set
			for _, p := range rule.Permissions() {
				by.Add(namespace, p)
			}
			smaller := maps.Clone(roles)
			smaller[namespace] = slices.Delete(slices.Clone(list), at, at+1)
			if len(by.Without(smaller).Namespaces()) == 0 {
				t.Errorf("the rule %+v is not needed in %q", rule, namespace)
			}
			rules++
		}
	}
	return rules
}

// unpermitted returns what objects do not permit the account of a result.
func unpermitted(t *testing.T, r *Result, objects []Object) *rbac.Set {
	t.Helper()
	text, err := YAML(objects)
	fail.On(t, err)
	p, err := rbac.Read(text)
	fail.On(t, err)
	missing, unknown := p.Missing(r.Account, r.Needs)
	if len(unknown) > 0 {
		t.Errorf("there are no roles for %v", unknown)
	}
	return missing
}

// Without any one of the rules, verbs, resources, names and URLs, or of the bindings, the manifests are not enough.
func TestLeastOfManifests(t *testing.T) {
	t.Parallel()
	r, err := V1(lighthouse(t), V1Options{Namespaces: []string{"sea"}})
	fail.On(t, err)
	roles := 0
	for i, o := range r.Objects {
		if o["metadata"].(Object)["name"] != r.Account.Name || o["apiVersion"] != rbac.APIGroup+"/v1" {
			continue
		}
		roles++
		without := func(member string, value any) {
			objects := slices.Clone(r.Objects)
			objects[i] = maps.Clone(o)
			objects[i][member] = value
			if len(unpermitted(t, r, objects).Namespaces()) == 0 {
				t.Errorf("%s is enough with the %s %v", o.Name(), member, value)
			}
		}
		rules, ok := o["rules"].([]rbac.Rule)
		if !ok {
			without("subjects", []Object{{"kind": "ServiceAccount", "name": "other", "namespace": "other"}})
		}
		for at, rule := range rules {
			without("rules", slices.Delete(slices.Clone(rules), at, at+1))
			for _, list := range []func(*rbac.Rule) *[]string{
				func(r *rbac.Rule) *[]string { return &r.Verbs },
				func(r *rbac.Rule) *[]string { return &r.Resources },
				func(r *rbac.Rule) *[]string { return &r.ResourceNames },
				func(r *rbac.Rule) *[]string { return &r.NonResourceURLs },
			} {
				for j := range *list(&rule) {
					smaller := rule
					if *list(&smaller) = slices.Delete(slices.Clone(*list(&rule)), j, j+1); len(*list(&smaller)) == 0 {
						*list(&smaller) = []string{"other"} // no name is any name
					}
					changed := slices.Clone(rules)
					changed[at] = smaller
					without("rules", changed)
				}
			}
		}
	}
	if roles != 6 { // a ClusterRole, a Role in each of two namespaces, and their bindings
		t.Errorf("there are %d roles and bindings", roles)
	}
}

func TestLeast(t *testing.T) {
	t.Parallel()
	for _, watched := range [][]string{nil, {"lighthouse-lamps"}, {"sea"}} {
		r, err := V1(lighthouse(t), V1Options{Namespaces: watched, CertManager: true})
		fail.On(t, err)
		checkLeast(t, r)
	}
}

// manyRules returns rules that cannot be joined, and overlap in part.
func manyRules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "        - {apiGroups: [g%d.example.com, g%d.example.com], resources: [many], verbs: [get, list, v%d]}\n", i, i+1, i)
	}
	return b.String()
}

func TestManyRules(t *testing.T) {
	t.Parallel()
	const rule = "        - {apiGroups: [sea.example.com], resources: [lamps/status], verbs: [update]}\n"
	r, err := V1(lighthouse(t, rule, manyRules(300)), V1Options{})
	fail.On(t, err)
	if n := checkLeast(t, r); n < 300 {
		t.Errorf("there are %d rules, want at least 300", n)
	}
}

// A role that collects the rules of others can only be created with escalate.
func TestAggregation(t *testing.T) {
	t.Parallel()
	r, err := V1(lighthouse(t, "rules:\n- {nonResourceURLs: [/metrics], verbs: [get]}\n", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\n"), V1Options{})
	fail.On(t, err)
	checkLeast(t, r)
	escalate := rbac.Permission{Verb: "escalate", Group: rbac.APIGroup, Resource: "clusterroles"}
	if !slices.Contains(r.Needs.Permissions(rbac.Cluster), escalate) || !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, "cluster-admin") }) {
		t.Errorf("the account need not escalate, or no note says so: %v", r.Notes)
	}
}

// A bundle that binds such a role needs bind, too.
func TestAggregationIsBound(t *testing.T) {
	t.Parallel()
	r, err := V1(lighthouse(t, "rules:\n- {nonResourceURLs: [/metrics], verbs: [get]}\n", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\n", `name: "system:auth-delegator"`, "name: lighthouse-metrics-reader"), V1Options{})
	fail.On(t, err)
	checkLeast(t, r)
	bind := rbac.Permission{Verb: "bind", Group: rbac.APIGroup, Resource: "clusterroles", Name: "lighthouse-metrics-reader"}
	if !slices.Contains(r.Needs.Permissions(rbac.Cluster), bind) {
		t.Error("the account need not bind")
	}
}

// With escalate and bind, an account need not have what the bundle's roles permit.
func TestEscalateAndBind(t *testing.T) {
	t.Parallel()
	r, err := V1(lighthouse(t), V1Options{})
	fail.On(t, err)
	for _, tc := range []struct {
		verbs string
		want  bool // whether that is enough
	}{{"", false}, {"escalate", false}, {"bind", false}, {"escalate, bind", true}} {
		text, err := YAML([]Object{Role(rbac.Cluster, "own", r.own.Roles()[rbac.Cluster])})
		fail.On(t, err)
		for namespace, rules := range r.own.Roles() {
			if namespace == rbac.Cluster {
				continue
			}
			more, err := YAML([]Object{Role(namespace, "own", rules)})
			fail.On(t, err)
			text = slices.Concat(text, []byte("---\n"), more)
		}
		text = append(text, "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: more}, rules: [{verbs: ["+tc.verbs+"], apiGroups: [rbac.authorization.k8s.io], resources: [roles, clusterroles]}]}\n"...)
		p, err := rbac.Read(text)
		fail.On(t, err)
		if missing, _ := r.Missing(p); (len(missing.Namespaces()) == 0) != tc.want {
			t.Errorf("with %q, %v is missing", tc.verbs, missing.Roles())
		}
	}
}
