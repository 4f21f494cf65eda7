package resources

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// KustomizationFile is the name of the file for `oc apply -k DIR`. It is one of the three that kustomize
// looks for, and the only one that `oc apply -f DIR` does not read as a manifest: that reads files with
// the extensions .json, .yaml and .yml, and fails on the kind Kustomization.
//
// https://github.com/kubernetes-sigs/kustomize/blob/master/api/konfig/general.go,
// https://github.com/kubernetes/cli-runtime/blob/master/pkg/resource/builder.go
const KustomizationFile = "Kustomization"

const (
	componentDir  = "components"
	componentFile = "kustomization.yaml" // in a folder that nothing but kustomize reads
)

// A Kustomized says which components the Kustomization applies.
type Kustomized struct {
	// For is the Target as text.
	For string `json:"for"`
	// Components are those that are applied, in order. Without any there is no Kustomization.
	Components []string `json:"components"`
	// LeftOut are those that are not applied.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// Missing are components of the Target that have no objects.
	Missing []string `json:"missing,omitempty"`
}

// A LeftOut is a component that is not applied.
type LeftOut struct {
	Component string `json:"component"`
	// Reason is a clause with the component as its subject: "needs OpenShift 4.18".
	Reason string `json:"reason"`
	// Optional means that a Target may name it.
	Optional bool `json:"optional,omitempty"`
	// Setting means that its objects are settings of a cluster, and not for mirrored content.
	Setting bool `json:"setting,omitempty"`
}

// Kustomize returns the files for `oc apply -k` of manifests: a folder for each component, with copies
// of its manifests, and a Kustomization that applies those components that the clusters accept. Copies
// are needed since kustomize reads no files outside the folder of a component. own are the files of
// components that no manifest belongs to, by component. without has reasons why components that t names
// cannot be applied.
func Kustomize(manifests []File, own map[string][]File, without map[string]string, t Target) (files []File, k Kustomized, err error) {
	members := map[string][]File{}
	for name, more := range own {
		members[name] = slices.Clone(more)
	}
	seen := map[ObjectName]bool{}
	for _, f := range slices.Backward(manifests) { // YAML before JSON of one name
		all, err := readObjects(f)
		if err != nil {
			return nil, k, fmt.Errorf("reading %s: %w", f.Name, err)
		}
		if len(all) == 0 || seen[all[0].name] {
			continue
		}
		for _, o := range all {
			seen[o.name] = true
		}
		if name := componentOf(all[0].name.Kind, all[0].apiVersion); name != "" {
			members[name] = append(members[name], f)
		}
	}
	k = Kustomized{For: t.String(), Components: []string{}}
	var top bytes.Buffer
	for _, c := range components() {
		all := members[c.name]
		if len(all) == 0 {
			if slices.Contains(t.Components, c.name) {
				k.Missing = append(k.Missing, c.name)
			}
			continue
		}
		elements.Sort(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
		files = append(files, c.files(all)...)
		if reason := c.refused(t); reason != "" {
			k.LeftOut = append(k.LeftOut, LeftOut{c.name, reason, c.optional != "" && !t.Kubernetes && !c.endsBefore(t), own[c.name] != nil})
			continue
		}
		if reason := without[c.name]; reason != "" {
			k.LeftOut = append(k.LeftOut, LeftOut{Component: c.name, Reason: reason})
			continue
		}
		k.Components = append(k.Components, c.name)
	}
	if len(k.Components) == 0 {
		return files, k, nil
	}
	fmt.Fprintf(&top, "# for %s\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ncomponents:\n", k.For)
	for _, name := range k.Components {
		fmt.Fprintf(&top, "- %s/%s\n", componentDir, name)
	}
	for _, l := range k.LeftOut {
		fmt.Fprintf(&top, "# - %s/%s   # %s\n", componentDir, l.Component, l.Reason)
	}
	return append(files, File{KustomizationFile, top.Bytes()}), k, nil
}

// files returns the folder of a component with these files. A file that is called like the folder's own
// is the complete one.
func (c component) files(members []File) (files []File) {
	dir := path.Join(componentDir, c.name)
	var text bytes.Buffer
	text.WriteString("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n")
	complete := false
	for _, f := range members {
		complete = complete || f.Name == componentFile
		fmt.Fprintf(&text, "- %s\n", f.Name)
		files = append(files, File{path.Join(dir, f.Name), f.Text})
	}
	if !complete {
		files = append(files, File{path.Join(dir, componentFile), text.Bytes()})
	}
	return files
}

// Applied returns the files with the objects that clusters get: those of components that a Kustomization
// names. In a folder without components, which an earlier version wrote, these are all manifests.
func Applied(files []File) (applied []File) {
	chosen, kustomized := map[string]bool{}, map[string]bool{} // by the path of a component, or of the folder above all
	for _, f := range files {
		dir := path.Dir(f.Name)
		if path.Base(path.Dir(dir)) == componentDir {
			kustomized[path.Dir(path.Dir(dir))] = true
		}
		if path.Base(f.Name) != KustomizationFile {
			continue
		}
		for line := range strings.Lines(string(f.Text)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "+componentDir+"/"); ok {
				chosen[path.Join(dir, componentDir, name)] = true
			}
		}
	}
	for _, f := range files {
		dir := path.Dir(f.Name)
		isComponent := path.Base(path.Dir(dir)) == componentDir
		switch {
		case path.Base(f.Name) == KustomizationFile, path.Base(f.Name) == componentFile, path.Base(f.Name) == path.Base(CAFile), path.Base(dir) == skeletonDir:
		case isComponent && chosen[dir], !isComponent && !kustomized[dir]:
			applied = append(applied, f)
		}
	}
	return applied
}

// Kept returns the files of before, which clusters got, with objects that are in manifests, but no longer
// in after, which clusters get now. Clusters keep these objects: the mirror still has what they are for.
func Kept(before, after, manifests []File) (kept []File) {
	now, all := ObjectNames(after), ObjectNames(manifests)
	isKept := func(n ObjectName) bool { return slices.Contains(all, n) && !slices.Contains(now, n) }
	for _, f := range before {
		if names := ObjectNames([]File{f}); len(names) > 0 && !slices.ContainsFunc(names, func(n ObjectName) bool { return !isKept(n) }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// InComponent reports whether a file with this name is in the folder of a component.
func InComponent(name string) bool { return path.Base(path.Dir(path.Dir(name))) == componentDir }

// IsSupport reports whether a file with this name is one of those that Kustomize and Skeletons return.
func IsSupport(name string) bool {
	base := path.Base(name)
	return base == KustomizationFile || base == componentFile || InComponent(name) || path.Base(path.Dir(name)) == skeletonDir
}

// WithoutSupport returns the names without those of files that Kustomize and Skeletons return.
func WithoutSupport(names []string) (rest []string) {
	for _, name := range names {
		if name != KustomizationFile && !strings.HasPrefix(name, componentDir+"/") && !strings.HasPrefix(name, skeletonDir+"/") {
			rest = append(rest, name)
		}
	}
	return rest
}
