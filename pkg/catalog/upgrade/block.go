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

// A BlockKind classifies blocks. The set is closed.
type BlockKind string

const (
	// MaxOpenShift: while the bundle is installed, the cluster is not updated
	// beyond its olm.maxOpenShiftVersion.
	MaxOpenShift BlockKind = "max-openshift"
	// MinKube: the bundle needs a newer Kubernetes (minKubeVersion).
	MinKube BlockKind = "min-kube"
	// StoredVersion: the update removes a version of a custom resource in which objects may be
	// stored.
	StoredVersion BlockKind = "stored-version"
	// OldCRD: the bundle has CustomResourceDefinitions of v1beta1, which OpenShift 4.9 and later do
	// not support.
	OldCRD BlockKind = "old-crd"
	// NewField: the update requires a field of a custom resource that was optional before.
	NewField BlockKind = "new-field"
	// MissingAPI: the bundle needs an API that the cluster no longer has (nativeAPIs).
	MissingAPI BlockKind = "missing-api"
	// NotUpgradeable: the condition Upgradeable of the operator or the cluster is False, or the
	// ClusterVersion has overrides.
	NotUpgradeable BlockKind = "not-upgradeable"
	// Refused: OLM v1 does not install the bundle.
	Refused BlockKind = "refused"
	// Dependency: the bundle has dependencies, and the mirror has no bundle that provides them and
	// that OLM classic could install.
	Dependency BlockKind = "dependency"
)

// A Block prevents a hop, or an update of the cluster.
type Block struct {
	Kind BlockKind `json:"kind"`
	// Possible says that the block may not apply: the catalog does not tell enough.
	Possible bool   `json:"may,omitempty"`
	Message  string `json:"message"`
}

// facts are the properties of one bundle from which blocks are derived.
type facts struct {
	name string
	// max is its olm.maxOpenShiftVersion, or "".
	max  string
	apis []installed.API
	excerpt.Excerpt
	schemas  []excerpt.Schema
	refusals []extension.Refusal
}

// factsOf reads the facts of a bundle. The reader of catalogs reports manifests that cannot be
// parsed; they cause no blocks here.
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

// hopBlocks returns the blocks of a hop on a cluster.
func hopBlocks(from, to facts, generation graph.Generation, c cluster) []Block {
	var all []Block
	if max, ok := c.exceeds(from.max); ok {
		all = append(all, Block{Kind: MaxOpenShift, Message: fmt.Sprintf("make this update before the cluster is updated to %s: while %s is installed, the cluster cannot be updated beyond %s (olm.maxOpenShiftVersion)", c, from.name, max)})
	}
	if b, ok := c.tooOld(to, generation); ok {
		all = append(all, b)
	}
	all = append(all, c.missingAPIs(to, generation)...)
	all = append(all, storedVersions(from, to)...)
	all = append(all, newFields(from, to, generation)...)
	for _, crd := range to.CRDs {
		if c.known && crd.APIVersion == "apiextensions.k8s.io/v1beta1" && c.openshift.GTE(semver.Version{Major: 4, Minor: 9}) {
			all = append(all, oldDefinition(to.name, crd.Name))
		}
	}
	if generation == graph.V1 {
		for _, r := range to.refusals {
			if r.Reason != extension.NoExcerpt {
				all = append(all, Block{Kind: Refused, Possible: !r.Certain(), Message: fmt.Sprintf("%s %s", to.name, r.Message)})
			}
		}
	}
	return all
}

// endBlocks returns the blocks of the bundle at which an operator ends.
func endBlocks(f facts, c cluster) []Block {
	max, ok := c.exceeds(f.max)
	if !ok {
		return nil
	}
	return []Block{{Kind: MaxOpenShift, Message: fmt.Sprintf("while %s is installed, the cluster cannot be updated to %s, only to %s (olm.maxOpenShiftVersion), and the mirror has no later bundle that allows it", f.name, c, max)}}
}

// exceeds reports whether the cluster is newer than a bundle's olm.maxOpenShiftVersion. Only major
// and minor count (operator-lifecycle-manager, openshift.incompatibleOperators).
func (c cluster) exceeds(max string) (string, bool) {
	v, err := semver.ParseTolerant(max)
	if !c.known || max == "" || err != nil {
		return "", false
	}
	v = semver.Version{Major: v.Major, Minor: v.Minor}
	return minor(v), v.LT(c.openshift)
}

// tooOld reports whether the cluster's Kubernetes is older than a bundle requires. The patch
// version of Kubernetes is unknown. OLM classic leaves the ClusterServiceVersion pending; OLM v1
// does not check, and the operator may fail.
func (c cluster) tooOld(f facts, generation graph.Generation) (Block, bool) {
	needs, err := semver.ParseTolerant(f.MinKube)
	if !c.known || f.MinKube == "" || err != nil {
		return Block{}, false
	}
	if !c.kubeKnown {
		return Block{Kind: MinKube, Possible: true, Message: fmt.Sprintf("%s needs Kubernetes %s (minKubeVersion), and the version of Kubernetes in OpenShift %s is unknown; compare it with what that release contains", f.name, f.MinKube, c)},
			needs.Major > 1 || !c.hasAtLeast(needs.Minor)
	}
	least := semver.Version{Major: needs.Major, Minor: needs.Minor}
	if least.LT(c.kube) || least.EQ(c.kube) && needs.Patch == 0 {
		return Block{}, false
	}
	b := Block{Kind: MinKube, Possible: least.EQ(c.kube) || generation == graph.V1}
	b.Message = fmt.Sprintf("%s needs Kubernetes %s (minKubeVersion), and OpenShift %s has %s", f.name, f.MinKube, c, c.kubernetes())
	if generation == graph.V1 {
		b.Message += "; OLM v1 does not check this, but the operator may not run"
	}
	b.Message += "; update the cluster first"
	return b, true
}
