package upgrade

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A removedAPI is an API that Kubernetes no longer serves. Without a kind, these are all of the version.
type removedAPI struct {
	group, version, kind string
	minor                uint64 // of the Kubernetes 1.x that removed it
}

// removedAPIs are the APIs that Kubernetes removed
// (https://kubernetes.io/docs/reference/using-api/deprecation-guide/).
func removedAPIs() []removedAPI {
	return []removedAPI{
		{"extensions", "v1beta1", "DaemonSet", 16}, {"extensions", "v1beta1", "Deployment", 16}, {"extensions", "v1beta1", "ReplicaSet", 16},
		{"extensions", "v1beta1", "NetworkPolicy", 16}, {"extensions", "v1beta1", "PodSecurityPolicy", 16}, {"extensions", "v1beta1", "", 22},
		{"apps", "v1beta1", "", 16}, {"apps", "v1beta2", "", 16},
		{"admissionregistration.k8s.io", "v1beta1", "MutatingWebhookConfiguration", 22},
		{"admissionregistration.k8s.io", "v1beta1", "ValidatingWebhookConfiguration", 22},
		{"apiextensions.k8s.io", "v1beta1", "", 22}, {"apiregistration.k8s.io", "v1beta1", "", 22},
		{"authentication.k8s.io", "v1beta1", "TokenReview", 22}, {"authorization.k8s.io", "v1beta1", "", 22},
		{"certificates.k8s.io", "v1beta1", "", 22}, {"coordination.k8s.io", "v1beta1", "", 22},
		{"networking.k8s.io", "v1beta1", "Ingress", 22}, {"networking.k8s.io", "v1beta1", "IngressClass", 22},
		{"rbac.authorization.k8s.io", "v1beta1", "", 22}, {"scheduling.k8s.io", "v1beta1", "", 22},
		{"storage.k8s.io", "v1beta1", "CSIDriver", 22}, {"storage.k8s.io", "v1beta1", "CSINode", 22},
		{"storage.k8s.io", "v1beta1", "StorageClass", 22}, {"storage.k8s.io", "v1beta1", "VolumeAttachment", 22},
		{"batch", "v1beta1", "", 25}, {"discovery.k8s.io", "v1beta1", "", 25}, {"events.k8s.io", "v1beta1", "", 25},
		{"autoscaling", "v2beta1", "", 25}, {"policy", "v1beta1", "", 25}, {"node.k8s.io", "v1beta1", "", 25},
		{"autoscaling", "v2beta2", "", 26}, {"flowcontrol.apiserver.k8s.io", "v1beta1", "", 26},
		{"storage.k8s.io", "v1beta1", "CSIStorageCapacity", 27},
		{"flowcontrol.apiserver.k8s.io", "v1beta2", "", 29}, {"flowcontrol.apiserver.k8s.io", "v1beta3", "", 32},
	}
}

// missingAPIs returns the native APIs of a bundle that the cluster no longer has. OLM classic leaves
// the ClusterServiceVersion pending; OLM v1 does not check, and the operator may fail.
func (c cluster) missingAPIs(f facts, generation graph.Generation) []Block {
	var all []Block
	for _, api := range f.NativeAPIs {
		at := slices.IndexFunc(removedAPIs(), func(r removedAPI) bool { return r.is(api) })
		if !c.kubeKnown || at < 0 {
			continue
		}
		removed := removedAPIs()[at].minor
		if c.kube.LT(semver.Version{Major: 1, Minor: removed}) {
			continue
		}
		b := Block{Kind: MissingAPI, Possible: generation == graph.V1}
		b.Message = fmt.Sprintf("%s needs %s %s/%s (nativeAPIs), which Kubernetes 1.%d removed, and OpenShift %s has %s",
			f.name, api.Kind, api.Group, api.Version, removed, c, c.kubernetes())
		if generation == graph.V1 {
			b.Message += "; OLM v1 does not check this, but the operator may not run"
		}
		all = append(all, b)
	}
	return all
}

func (r removedAPI) is(api excerpt.NativeAPI) bool {
	return r.group == api.Group && r.version == api.Version && cmp.Or(r.kind, api.Kind) == api.Kind
}
