package resources

import (
	"fmt"
	"slices"
)

// A component is a group of objects that a cluster accepts or refuses together: applying fails for a kind
// that the cluster does not know.
type component struct {
	name string
	// kinds are the kinds of its objects.
	kinds []string
	// since is the first version of OpenShift that has the kinds, kubernetes whether other clusters have
	// them, too.
	since      OpenShiftVersion
	kubernetes bool
	// setting means that its objects belong to the cluster, and are only changed.
	setting bool
	// optional is why clusters of these versions may not want it; "" if they do.
	optional string
	// until is the last version of OpenShift that it is for; zero if there is none. instead is what later
	// versions need.
	until   OpenShiftVersion
	instead string
}

// The components that a Target names.
const (
	trustedCA       = "trusted-ca"
	disableCatalogs = "disable-default-catalogs"
	updateServices  = "update-service"
	alphaPolicies   = "image-policies-v1alpha1"
	imagePolicies   = "image-policies"
)

// components returns all components in the order in which clusters apply them: nodes get their mirrors
// before catalogs make them pull.
//
// Mirror sets are in OpenShift 4.13, ImageContentSourcePolicies in all versions. ClusterCatalogs are
// supported since 4.18, ClusterImagePolicies (v1) since 4.20. UpdateServices need an operator.
func components() []component {
	return []component{
		{name: trustedCA, setting: true, optional: "needs the file ca.crt in its folder, and replaces additionalTrustedCA"},
		{name: "mirror-sets", kinds: []string{"ImageDigestMirrorSet", "ImageTagMirrorSet"}, since: OpenShiftVersion{4, 13}},
		{name: "icsp", kinds: []string{"ImageContentSourcePolicy"}},
		{name: "signatures", kinds: []string{"ConfigMap"}},
		{name: imagePolicies, kinds: []string{"ClusterImagePolicy", "ImagePolicy"}, since: OpenShiftVersion{4, 20}},
		{name: alphaPolicies, since: OpenShiftVersion{4, 16}, optional: "needs the feature gate of signature policies in OpenShift 4.16 to 4.19",
			until: OpenShiftVersion{4, 19}, instead: "is for OpenShift 4.16 to 4.19: set Options.ImagePolicies to " + ImagePolicyV1 + " for later versions"},
		{name: disableCatalogs, setting: true, optional: "disables the catalogs of the Internet"},
		{name: "olm-classic", kinds: []string{"CatalogSource"}},
		{name: "olm-v1", kinds: []string{"ClusterCatalog"}, since: OpenShiftVersion{4, 18}, kubernetes: true},
		{name: updateServices, kinds: []string{"UpdateService"}, optional: "needs the OpenShift Update Service operator"},
	}
}

// optionalComponents returns the components that a Target may name, sorted.
func optionalComponents() (names []string) {
	for _, c := range components() {
		if c.optional != "" {
			names = append(names, c.name)
		}
	}
	slices.Sort(names)
	return names
}

// refused returns why clusters do not apply the component, or "" if they do.
func (c component) refused(t Target) string {
	switch {
	case t.Kubernetes && !c.kubernetes:
		return "is for OpenShift"
	case t.Kubernetes:
		return ""
	case c.endsBefore(t):
		return c.instead
	case c.optional != "" && !slices.Contains(t.Components, c.name):
		return c.optional
	case c.optional == "" && c.since.Compare(OpenShiftVersion{4, 13}) > 0 && t.Version == OpenShiftVersion{}:
		return fmt.Sprintf("needs OpenShift %s, and the version of the clusters is unknown", c.since)
	case t.Version != OpenShiftVersion{} && t.Version.Compare(c.since) < 0:
		return fmt.Sprintf("needs OpenShift %s", c.since)
	}
	return ""
}

// endsBefore reports whether the component is not for clusters because they are too new.
func (c component) endsBefore(t Target) bool {
	return c.until != OpenShiftVersion{} && t.Version != OpenShiftVersion{} && t.Version.Compare(c.until) > 0
}

// componentOf returns the name of the component of an object of a kind; "" if it has none.
func componentOf(kind, apiVersion string) string {
	for _, c := range components() {
		if !slices.Contains(c.kinds, kind) {
			continue
		}
		if c.name == imagePolicies && apiVersion == "config.openshift.io/"+ImagePolicyV1alpha1 {
			return alphaPolicies
		}
		return c.name
	}
	return ""
}
