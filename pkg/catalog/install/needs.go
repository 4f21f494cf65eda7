package install

import (
	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
)

// olmGroup is the API group of OLM v1.
const olmGroup = "olm.operatorframework.io"

// needs returns the permissions with which operator-controller installs what was rendered for the
// ClusterExtension with a name, and manages it afterwards (authorization/rbac.go, up to v1.10; and "Derive
// minimal ServiceAccount required for ClusterExtension Installation and Management"):
//
//   - for each object get, patch, update and delete by its name; create in its namespace, which no rule
//     can restrict to names; and list and watch in the whole cluster, for its cache
//   - update of the finalizers of the ClusterExtension, for clusters that restrict owner references
//   - everything that its roles grant
//   - bind for roles that the bundle binds and does not have, by their names
//   - escalate for ClusterRoles if one of its own collects the rules of others, which cannot be listed, and
//     bind if the bundle binds it
//
// own are those without what the roles grant.
func (r *rendering) needs(name string) (all, own *rbac.Set) {
	needs := &rbac.Set{}
	for _, t := range r.things {
		for _, verb := range []string{"get", "patch", "update", "delete"} {
			needs.Add(t.namespace, rbac.Permission{Verb: verb, Group: t.group, Resource: t.resource, Name: t.name})
		}
		needs.Add(t.namespace, rbac.Permission{Verb: "create", Group: t.group, Resource: t.resource})
		for _, verb := range []string{"list", "watch"} {
			needs.Add(rbac.Cluster, rbac.Permission{Verb: verb, Group: t.group, Resource: t.resource})
		}
	}
	needs.Add(rbac.Cluster, rbac.Permission{Verb: "update", Group: olmGroup, Resource: "clusterextensions/finalizers", Name: name})
	for _, t := range r.bound {
		needs.Add(t.namespace, rbac.Permission{Verb: "bind", Group: t.group, Resource: t.resource, Name: t.name})
	}
	if r.aggregates {
		needs.Add(rbac.Cluster, rbac.Permission{Verb: "escalate", Group: rbac.APIGroup, Resource: "clusterroles"})
	}
	all = &rbac.Set{}
	for _, g := range r.grants {
		all.Add(g.role.namespace, g.permissions...)
		for _, namespace := range g.boundIn {
			if g.aggregates {
				needs.Add(namespace, g.bind())
			}
		}
	}
	for _, namespace := range needs.Namespaces() {
		all.Add(namespace, needs.Permissions(namespace)...)
	}
	return all, needs
}
