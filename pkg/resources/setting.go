package resources

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// A Setting is an object that belongs to a cluster, and how to set it back.
type Setting struct {
	ObjectName
	// Group is the API group of the object: "config.openshift.io".
	Group string `json:"group"`
	// Patch is a JSON merge patch that undoes the change; "" if the object is none that Gantry changes.
	Patch string `json:"patch,omitempty"`
}

// isSetting reports whether a file is in the folder of a component that changes objects of a cluster.
func isSetting(name string) bool {
	dir := path.Dir(name)
	return path.Base(path.Dir(dir)) == componentDir && slices.ContainsFunc(components(), func(c component) bool {
		return c.setting && c.name == path.Base(dir)
	})
}

// restored returns how to set the object back to what OpenShift installs.
func (o object) restored() Setting {
	group, _, _ := strings.Cut(o.apiVersion, "/")
	patch := map[string]string{
		"ClusterCatalog": `{"spec":{"availabilityMode":"Available"}}`,
		"Image":          `{"spec":{"additionalTrustedCA":null}}`,
		"OperatorHub":    `{"spec":{"disableAllDefaultSources":false}}`,
	}[o.name.Kind]
	return Setting{o.name, group, patch}
}

// Resource returns how commands name the kind of the object: "image.config.openshift.io". OpenShift has
// several kinds that are called Image.
func (s Setting) Resource() string {
	return cmp.Or(strings.TrimSuffix(strings.ToLower(s.Kind)+"."+s.Group, "."), s.Kind)
}
