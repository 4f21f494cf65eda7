package upgrade

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// A Conflict is an API that several packages of a mirror provide. A CustomResourceDefinition has one
// owner in a cluster: OLM refuses to install the second package.
type Conflict struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Packages are their names, sorted.
	Packages []string `json:"packages"`
}

// conflicts returns the APIs that several packages provide, sorted. Packages of the same name in
// several catalogs are one operator.
func conflicts(catalogs []Catalog) []Conflict {
	type kind struct{ group, kind string }
	owners := map[kind]map[string]bool{}
	for _, k := range catalogs {
		for _, p := range k.Kept.Packages {
			for _, b := range p.Bundles {
				for _, property := range b.Properties {
					var api installed.API
					if property.Type != "olm.gvk" || json.Unmarshal(property.Value, &api) != nil {
						continue
					}
					at := kind{api.Group, api.Kind}
					if owners[at] == nil {
						owners[at] = map[string]bool{}
					}
					owners[at][p.Name] = true
				}
			}
		}
	}
	var all []Conflict
	for at, packages := range owners {
		if len(packages) > 1 {
			all = append(all, Conflict{at.group, at.kind, slices.Sorted(maps.Keys(packages))})
		}
	}
	elements.Sort(all, func(a, b Conflict) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return all
}
