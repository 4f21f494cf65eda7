package install

import (
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
)

// userRoles returns ClusterRoles for the users of the operator's APIs. Kubernetes adds their rules to its
// own ClusterRoles view, edit and admin, because of their labels. OLM classic makes such roles itself (its
// ProvidedAPIs in operatorgroup.go), OLM v1 does not.
func (b *Bundle) userRoles() []Object {
	resources := map[string][]string{} // by group
	var names []string
	for _, c := range b.crds {
		names = append(names, c.Metadata.Name)
		resource, group, _ := strings.Cut(c.Metadata.Name, ".")
		if c.Spec.Names.Plural != "" {
			resource, group = c.Spec.Names.Plural, c.Spec.Group
		}
		resources[group] = append(resources[group], resource)
	}
	if len(names) == 0 {
		return nil
	}
	var objects []Object
	for _, level := range []struct {
		name  string
		verbs []string
	}{
		{"view", []string{"get", "list", "watch"}},
		{"edit", []string{"create", "delete", "patch", "update"}},
		{"admin", []string{"*"}},
	} {
		var set rbac.Set
		for group, list := range resources {
			set.Add(rbac.Cluster, rbac.Rule{Verbs: level.verbs, APIGroups: []string{group}, Resources: list}.Permissions()...)
		}
		if level.name == "view" {
			set.Add(rbac.Cluster, rbac.Rule{Verbs: []string{"get"}, APIGroups: []string{extensionsGroup}, Resources: []string{"customresourcedefinitions"}, ResourceNames: slices.Clone(names)}.Permissions()...)
		}
		o := Role(rbac.Cluster, b.Package+"-api-"+level.name, set.Roles()[rbac.Cluster])
		o["metadata"] = Object{"name": b.Package + "-api-" + level.name, "labels": Object{rbac.APIGroup + "/aggregate-to-" + level.name: "true"}}
		objects = append(objects, o)
	}
	return objects
}
