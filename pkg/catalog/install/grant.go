package install

import "github.com/gantry-mirror/gantry/pkg/catalog/rbac"

// A grant is a role that OLM v1 creates, with what it permits.
type grant struct {
	role        thing
	permissions []rbac.Permission
	// boundIn are the namespaces of its bindings.
	boundIn []string
	// aggregates says that it collects the rules of others.
	aggregates bool
}

// boundIn returns the namespaces in which the bundle binds a role of its own. OLM puts bindings with a
// namespace into the given one.
func (b *Bundle) boundIn(role *object, namespace string) []string {
	var list []string
	for _, o := range b.others {
		if o.RoleRef.Kind != role.Kind || o.RoleRef.Name != role.Metadata.Name {
			continue
		}
		switch o.Kind {
		case "RoleBinding":
			list = append(list, namespace)
		case "ClusterRoleBinding":
			list = append(list, rbac.Cluster)
		}
	}
	return list
}

// bind returns the permission to bind the role without what it permits.
func (g *grant) bind() rbac.Permission {
	return rbac.Permission{Verb: "bind", Group: g.role.group, Resource: g.role.resource, Name: g.role.name}
}

// Missing returns what a policy does not permit the account of the result, and the bindings of the account
// whose role is unknown. What the roles of the bundle permit is not needed for those that the account may
// create with escalate, and bind with bind (Kubernetes, pkg/registry/rbac).
func (r *Result) Missing(p *rbac.Policy) (missing *rbac.Set, unknown []string) {
	permits := func(namespace string, one rbac.Permission) bool {
		var set rbac.Set
		set.Add(namespace, one)
		not, _ := p.Missing(r.Account, &set)
		return len(not.Namespaces()) == 0
	}
	needs := &rbac.Set{}
	for _, namespace := range r.own.Namespaces() {
		needs.Add(namespace, r.own.Permissions(namespace)...)
	}
	for _, g := range r.grants {
		allowed := permits(g.role.namespace, rbac.Permission{Verb: "escalate", Group: g.role.group, Resource: g.role.resource})
		for _, namespace := range g.boundIn {
			allowed = allowed && permits(namespace, g.bind())
		}
		if !allowed {
			needs.Add(g.role.namespace, g.permissions...)
		}
	}
	return p.Missing(r.Account, needs)
}
