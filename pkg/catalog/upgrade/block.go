package upgrade

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// A BlockKind says what blocks. The set is closed.
type BlockKind string

const (
	// MaxOpenShift: while the bundle is installed, the cluster is not updated
	// beyond its olm.maxOpenShiftVersion.
	MaxOpenShift BlockKind = "max-openshift"
	// MinKube: the bundle needs a newer Kubernetes (minKubeVersion).
	MinKube BlockKind = "min-kube"
	// StoredVersion: a version of a custom resource goes that objects may be
	// stored in.
	StoredVersion BlockKind = "stored-version"
	// OldCRD: the bundle has CustomResourceDefinitions of v1beta1, which OpenShift
	// 4.9 and later do not know.
	OldCRD BlockKind = "old-crd"
	// Refused: OLM v1 does not install the bundle.
	Refused BlockKind = "refused"
)

// A Block is what stands against a hop, or against an update of the cluster.
type Block struct {
	Kind BlockKind `json:"kind"`
	// May says that it only may block: what decides is not in the catalog.
	May     bool   `json:"may,omitempty"`
	Message string `json:"message"`
}

// facts are what blocks are found from, of one bundle.
type facts struct {
	name string
	// max is its olm.maxOpenShiftVersion, "" for none.
	max  string
	apis []installed.API
	excerpt.Excerpt
	refusals []extension.Refusal
}

// factsOf reads a bundle. What cannot be read of its manifests is told by the
// reader of catalogs, and blocks nothing here.
func factsOf(b *catalog.Bundle) facts {
	f := facts{name: b.Name, refusals: extension.Refusals(b)}
	if x, err := excerpt.Of(b); err == nil {
		f.Excerpt = x
	}
	for _, p := range b.Properties {
		switch p.Type {
		case "olm.maxOpenShiftVersion":
			f.max = strings.Trim(string(p.Value), `"`)
		case "olm.gvk":
			var api installed.API
			if json.Unmarshal(p.Value, &api) == nil {
				f.apis = append(f.apis, api)
			}
		}
	}
	return f
}

// against finds what stands against a hop on a cluster.
func against(from, to facts, generation graph.Generation, c cluster) []Block {
	var all []Block
	if max, ok := c.exceeds(from.max); ok {
		all = append(all, Block{Kind: MaxOpenShift, Message: fmt.Sprintf("make it before the cluster is updated to %s: while %s is installed, the cluster goes no further than %s (olm.maxOpenShiftVersion)", c, from.name, max)})
	}
	if b, ok := c.tooOld(to, generation); ok {
		all = append(all, b)
	}
	all = append(all, storedVersions(from, to)...)
	for _, crd := range to.CRDs {
		if c.known && crd.APIVersion == "apiextensions.k8s.io/v1beta1" && c.openshift.GTE(semver.Version{Major: 4, Minor: 9}) {
			all = append(all, Block{Kind: OldCRD, Message: fmt.Sprintf("%s has the CustomResourceDefinition %s as v1beta1, which OpenShift 4.9 and later do not install", to.name, crd.Name)})
		}
	}
	if generation == graph.V1 {
		for _, r := range to.refusals {
			if r.Reason != extension.NoExcerpt {
				may := r.Reason != extension.Dependency && r.Reason != extension.NoImage
				all = append(all, Block{Kind: Refused, May: may, Message: fmt.Sprintf("%s %s", to.name, r.Message)})
			}
		}
	}
	return all
}

// atEnd finds what the bundle that an operator ends at stands against.
func atEnd(f facts, c cluster) []Block {
	max, ok := c.exceeds(f.max)
	if !ok {
		return nil
	}
	return []Block{{Kind: MaxOpenShift, Message: fmt.Sprintf("while %s is installed, the cluster is not updated to %s: it goes no further than %s (olm.maxOpenShiftVersion), and the mirror has nothing that goes further", f.name, c, max)}}
}

// exceeds reports whether the cluster is newer than a bundle's
// olm.maxOpenShiftVersion, of which major and minor count
// (operator-lifecycle-manager, openshift.incompatibleOperators).
func (c cluster) exceeds(max string) (string, bool) {
	v, err := semver.ParseTolerant(max)
	if !c.known || max == "" || err != nil {
		return "", false
	}
	v = semver.Version{Major: v.Major, Minor: v.Minor}
	return minor(v), v.LT(c.openshift)
}

// tooOld reports whether the cluster's Kubernetes is older than what a bundle
// needs. Which patch of it the cluster has is not known. OLM classic leaves the
// ClusterServiceVersion pending; OLM v1 does not look, and the operator may fail.
func (c cluster) tooOld(f facts, generation graph.Generation) (Block, bool) {
	needs, err := semver.ParseTolerant(f.MinKube)
	if !c.kubeKnown || f.MinKube == "" || err != nil {
		return Block{}, false
	}
	least := semver.Version{Major: needs.Major, Minor: needs.Minor}
	if least.LT(c.kube) || least.EQ(c.kube) && needs.Patch == 0 {
		return Block{}, false
	}
	b := Block{Kind: MinKube, May: least.EQ(c.kube) || generation == graph.V1}
	b.Message = fmt.Sprintf("%s needs Kubernetes %s (minKubeVersion), and OpenShift %s has %s", f.name, f.MinKube, c, c.kubernetes())
	if generation == graph.V1 {
		b.Message += "; OLM v1 does not look at that, but the operator may not run"
	}
	return b, true
}

// storedVersions finds the versions of custom resources that a hop takes away.
// Both generations of OLM refuse that while objects may be stored in one of them
// (status.storedVersions of the CustomResourceDefinition): that is certain of the
// version that the installed bundle stores objects in, and may be so of others.
// A kind that goes altogether is left alone.
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
	goes := func(group, name, version string) bool {
		versions := has[kind{group, name}]
		return len(versions) > 0 && !versions[version]
	}

	var all []Block
	told := map[installed.API]bool{}
	for _, crd := range from.CRDs {
		if crd.Storage != "" && goes(crd.Group, crd.Kind, crd.Storage) {
			told[installed.API{Group: crd.Group, Version: crd.Storage, Kind: crd.Kind}] = true
			all = append(all, Block{Kind: StoredVersion, Message: fmt.Sprintf("%s stores %s (%s) as %s, which %s no longer has; OLM refuses it until the objects are migrated and status.storedVersions is cleared", from.name, crd.Kind, crd.Group, crd.Storage, to.name)})
		}
	}
	apis := slices.Clone(from.apis)
	for _, crd := range from.CRDs {
		for _, version := range crd.Versions {
			apis = append(apis, installed.API{Group: crd.Group, Version: version, Kind: crd.Kind})
		}
	}
	slices.SortFunc(apis, func(a, b installed.API) int {
		return strings.Compare(a.Group+"/"+a.Kind+"/"+a.Version, b.Group+"/"+b.Kind+"/"+b.Version)
	})
	for _, api := range slices.Compact(apis) {
		if !told[api] && goes(api.Group, api.Kind, api.Version) {
			all = append(all, Block{Kind: StoredVersion, May: true, Message: fmt.Sprintf("%s no longer has version %s of %s (%s); OLM refuses it if the status.storedVersions of the CustomResourceDefinition name that", to.name, api.Version, api.Kind, api.Group)})
		}
	}
	return all
}
