package upgrade

import (
	"encoding/json"
	"fmt"
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
	// NewField: a custom resource must have a field that it need not have had.
	NewField BlockKind = "new-field"
	// Refused: OLM v1 does not install the bundle.
	Refused BlockKind = "refused"
	// Dependency: the bundle needs others, and the mirror has none that OLM classic
	// could install.
	Dependency BlockKind = "dependency"
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
	schemas  []excerpt.Schema
	refusals []extension.Refusal
}

// factsOf reads a bundle. What cannot be read of its manifests is told by the
// reader of catalogs, and blocks nothing here.
func factsOf(b *catalog.Bundle) facts {
	f := facts{name: b.Name, refusals: extension.Refusals(b)}
	if x, err := excerpt.Of(b); err == nil {
		f.Excerpt = x
	}
	if schemas, err := excerpt.Schemas(b); err == nil {
		f.schemas = schemas
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
	all = append(all, newFields(from, to, generation)...)
	for _, crd := range to.CRDs {
		if c.known && crd.APIVersion == "apiextensions.k8s.io/v1beta1" && c.openshift.GTE(semver.Version{Major: 4, Minor: 9}) {
			all = append(all, Block{Kind: OldCRD, Message: fmt.Sprintf("%s has the CustomResourceDefinition %s as v1beta1, which OpenShift 4.9 and later do not install", to.name, crd.Name)})
		}
	}
	if generation == graph.V1 {
		for _, r := range to.refusals {
			if r.Reason != extension.NoExcerpt {
				all = append(all, Block{Kind: Refused, May: !r.Certain(), Message: fmt.Sprintf("%s %s", to.name, r.Message)})
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
