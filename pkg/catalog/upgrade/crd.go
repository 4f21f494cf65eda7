package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// storedVersions finds the versions of custom resources that a hop removes. Both generations of OLM
// refuse to remove a version while objects may be stored in it (status.storedVersions of the
// CustomResourceDefinition). That is certain for the version in which the installed bundle stores
// objects, and possible for others. A kind that is removed entirely is no block.
func storedVersions(from, to facts) []Block {
	type kind struct{ group, kind string }
	has := map[kind]map[string]bool{}
	add := func(group, name, version string) {
		k := kind{group, name}
		if has[k] == nil {
			has[k] = map[string]bool{}
		}
		has[k][version] = true
	}
	for _, api := range to.apis {
		add(api.Group, api.Kind, api.Version)
	}
	for _, crd := range to.CRDs {
		for _, version := range crd.Versions {
			add(crd.Group, crd.Kind, version)
		}
	}
	removed := func(group, name, version string) bool {
		versions := has[kind{group, name}]
		return len(versions) > 0 && !versions[version]
	}

	var all []Block
	certain := map[installed.API]bool{}
	for _, crd := range from.CRDs {
		if crd.Storage != "" && removed(crd.Group, crd.Kind, crd.Storage) {
			certain[installed.API{Group: crd.Group, Version: crd.Storage, Kind: crd.Kind}] = true
			all = append(all, Block{Kind: StoredVersion, Message: fmt.Sprintf("%s stores %s (%s) as %s, which %s no longer has; OLM refuses the update until the objects are migrated and status.storedVersions is cleared", from.name, crd.Kind, crd.Group, crd.Storage, to.name)})
		}
	}
	apis := slices.Clone(from.apis)
	for _, crd := range from.CRDs {
		for _, version := range crd.Versions {
			apis = append(apis, installed.API{Group: crd.Group, Version: version, Kind: crd.Kind})
		}
	}
	elements.Sort(apis, func(a, b installed.API) int {
		return strings.Compare(a.Group+"/"+a.Kind+"/"+a.Version, b.Group+"/"+b.Kind+"/"+b.Version)
	})
	for _, api := range slices.Compact(apis) {
		if !certain[api] && removed(api.Group, api.Kind, api.Version) {
			all = append(all, Block{Kind: StoredVersion, Possible: true, Message: fmt.Sprintf("%s no longer has version %s of %s (%s); OLM refuses the update if status.storedVersions of the CustomResourceDefinition lists it", to.name, api.Version, api.Kind, api.Group)})
		}
	}
	return all
}

// newFields finds the fields that a hop newly requires in custom resources: in a version that both
// bundles have, or in a new version to which objects are not converted by a webhook. OLM classic
// validates existing objects against the new schema if the old version was served
// (operator-lifecycle-manager, pkg/lib/crd). OLM v1 only compares the schemas (crdUpgradeSafety). A
// required field of a field that is new itself is no block.
func newFields(from, to facts, generation graph.Generation) []Block {
	has := func(all []excerpt.Schema, like excerpt.Schema) bool {
		return slices.ContainsFunc(all, func(s excerpt.Schema) bool {
			return s.Group == like.Group && s.Kind == like.Kind && s.Version == like.Version
		})
	}
	then := "OLM refuses the update while there are objects without the required fields"
	if generation == graph.V1 {
		then = "OLM v1 refuses the update unless crdUpgradeSafety of the ClusterExtension is off"
	}
	var all []Block
	for _, next := range to.schemas {
		added := !has(from.schemas, next)
		for _, old := range from.schemas {
			same := old.Version == next.Version || added && !next.Converted && has(to.schemas, old)
			if old.Group != next.Group || old.Kind != next.Kind || !old.Served || !same {
				continue
			}
			if fields := newlyRequired(old, next); len(fields) > 0 {
				all = append(all, Block{Kind: NewField, Possible: true, Message: fmt.Sprintf(
					"%s requires %s in %s %s (%s), which %s does not require in %s; %s",
					to.name, joinFields(fields), next.Kind, next.Version, next.Group, from.name, old.Version, then)})
			}
		}
	}
	return all
}

// newlyRequired returns the fields that next requires and old does not, sorted.
func newlyRequired(old, next excerpt.Schema) []string {
	var fields []string
	for path, required := range next.Fields {
		parent := path[:max(0, strings.LastIndexByte(path, '.'))]
		parent = strings.TrimRight(parent, "[]{}")
		if _, known := old.Fields[parent]; required && !old.Fields[path] && (known || parent == "") {
			fields = append(fields, path)
		}
	}
	slices.Sort(fields)
	return fields
}

// joinFields joins names, the first three if there are more.
func joinFields(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more fields", strings.Join(names[:most], ", "), more)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}
