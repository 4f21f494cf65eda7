package upgrade

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
)

// A removedAPI lists kinds of an API version that Kubernetes no longer serves.
type removedAPI struct {
	minor          uint64 // of the Kubernetes 1.x that removed them
	group, version string
	kinds          []string
}

// removedAPIs are the APIs that Kubernetes removed
// (https://kubernetes.io/docs/reference/using-api/deprecation-guide/, up to 1.32). The kinds matter: later
// releases serve other kinds of some of these versions, such as LeaseCandidate of coordination.k8s.io/v1beta1.
func removedAPIs() []removedAPI {
	flowControl := []string{"FlowSchema", "PriorityLevelConfiguration"}
	return []removedAPI{
		{32, "flowcontrol.apiserver.k8s.io", "v1beta3", flowControl},
		{29, "flowcontrol.apiserver.k8s.io", "v1beta2", flowControl},
		{27, "storage.k8s.io", "v1beta1", []string{"CSIStorageCapacity"}},
		{26, "flowcontrol.apiserver.k8s.io", "v1beta1", flowControl},
		{26, "autoscaling", "v2beta2", []string{"HorizontalPodAutoscaler"}},
		{25, "batch", "v1beta1", []string{"CronJob"}},
		{25, "discovery.k8s.io", "v1beta1", []string{"EndpointSlice"}},
		{25, "events.k8s.io", "v1beta1", []string{"Event"}},
		{25, "autoscaling", "v2beta1", []string{"HorizontalPodAutoscaler"}},
		{25, "policy", "v1beta1", []string{"PodDisruptionBudget", "PodSecurityPolicy"}},
		{25, "node.k8s.io", "v1beta1", []string{"RuntimeClass"}},
		{22, "admissionregistration.k8s.io", "v1beta1", []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}},
		{22, "apiextensions.k8s.io", "v1beta1", []string{"CustomResourceDefinition"}},
		{22, "apiregistration.k8s.io", "v1beta1", []string{"APIService"}},
		{22, "authentication.k8s.io", "v1beta1", []string{"TokenReview"}},
		{22, "authorization.k8s.io", "v1beta1", []string{"LocalSubjectAccessReview", "SelfSubjectAccessReview", "SubjectAccessReview", "SelfSubjectRulesReview"}},
		{22, "certificates.k8s.io", "v1beta1", []string{"CertificateSigningRequest"}},
		{22, "coordination.k8s.io", "v1beta1", []string{"Lease"}},
		{22, "extensions", "v1beta1", []string{"Ingress"}},
		{22, "networking.k8s.io", "v1beta1", []string{"Ingress", "IngressClass"}},
		{22, "rbac.authorization.k8s.io", "v1beta1", []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}},
		{22, "scheduling.k8s.io", "v1beta1", []string{"PriorityClass"}},
		{22, "storage.k8s.io", "v1beta1", []string{"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"}},
		{16, "extensions", "v1beta1", []string{"NetworkPolicy", "DaemonSet", "Deployment", "ReplicaSet", "PodSecurityPolicy"}},
		{16, "apps", "v1beta2", []string{"DaemonSet", "Deployment", "StatefulSet", "ReplicaSet"}},
		{16, "apps", "v1beta1", []string{"Deployment", "StatefulSet", "ReplicaSet"}},
	}
}

// missingAPIs returns the native APIs of a bundle that the cluster no longer has. OLM classic leaves
// the ClusterServiceVersion pending; OLM v1 does not check, and the operator may fail.
func (c cluster) missingAPIs(f facts, generation graph.Generation) []Block {
	var all []Block
	for _, api := range f.NativeAPIs {
		at := slices.IndexFunc(removedAPIs(), func(r removedAPI) bool { return r.is(api) })
		if at < 0 || !c.hasAtLeast(removedAPIs()[at].minor) {
			continue
		}
		removed := removedAPIs()[at].minor
		has := cmp.Or(c.kubernetes(), "a later version")
		b := Block{Kind: MissingAPI, Possible: generation == graph.V1}
		b.Message = fmt.Sprintf("%s needs %s %s/%s (nativeAPIs), which Kubernetes 1.%d removed, and OpenShift %s has %s",
			f.name, api.Kind, api.Group, api.Version, removed, c, has)
		if generation == graph.V1 {
			b.Message += "; OLM v1 does not check this, but the operator may not run"
		}
		all = append(all, b)
	}
	return all
}

func (r removedAPI) is(api excerpt.NativeAPI) bool {
	return r.group == api.Group && r.version == api.Version && slices.Contains(r.kinds, api.Kind)
}
