package installed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/excerpt"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// The phases of a ClusterServiceVersion that are relevant here (operator-framework/api,
// v1alpha1.ClusterServiceVersionPhase).
const (
	phaseDeleting  = "Deleting"
	phaseFailed    = "Failed"
	phasePending   = "Pending"
	phaseReplacing = "Replacing"
)

// notePackage is the note on an operator whose package is unknown.
const notePackage = "its package is unknown: the ClusterServiceVersion has neither the annotation operatorframework.io/properties nor exactly one label operators.coreos.com/PACKAGE.NAMESPACE; add its Subscription to the input"

// clusterServiceVersion reads a ClusterServiceVersion. It returns false if the object is a copy in
// another namespace, is being deleted, or belongs to the platform.
func clusterServiceVersion(o object) (record, bool, error) {
	var spec struct {
		Version  string `json:"version"`
		Release  string `json:"release"`
		Replaces string `json:"replaces"`
		CRDs     struct {
			Owned []struct {
				Name    string `json:"name"` // plural.group
				Version string `json:"version"`
				Kind    string `json:"kind"`
			} `json:"owned"`
		} `json:"customresourcedefinitions"`
		RelatedImages []struct {
			Image string `json:"image"`
		} `json:"relatedImages"`
		Install excerpt.Install `json:"install"`
	}
	var status struct {
		Phase   string `json:"phase"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	if err := cmp.Or(unmarshal(o, "spec", o.Spec, &spec), unmarshal(o, "status", o.Status, &status)); err != nil {
		return record{}, false, err
	}
	_, copied := o.Metadata.Labels["olm.copiedFrom"]
	// OLM itself creates packageserver, which follows the cluster's version.
	platform := o.Metadata.Name == "packageserver" && o.Metadata.Namespace == "openshift-operator-lifecycle-manager"
	if copied || status.Reason == "Copied" || status.Phase == phaseDeleting || platform || o.Metadata.Name == "" {
		return record{}, false, nil
	}

	r := record{phase: status.Phase, replaces: spec.Replaces, Operator: Operator{
		Generation: graph.Classic,
		Name:       o.Metadata.Name,
		Namespace:  o.Metadata.Namespace,
		Bundle:     o.Metadata.Name,
		Version:    spec.Version,
		Release:    spec.Release,
	}}
	for _, crd := range spec.CRDs.Owned {
		if _, group, ok := strings.Cut(crd.Name, "."); ok {
			r.APIs = append(r.APIs, API{Group: group, Version: crd.Version, Kind: crd.Kind})
		}
	}
	for _, related := range spec.RelatedImages {
		r.Images = append(r.Images, related.Image)
	}
	for _, d := range spec.Install.Spec.Deployments {
		for _, c := range slices.Concat(d.Spec.Template.Spec.Containers, d.Spec.Template.Spec.InitContainers) {
			r.Images = append(r.Images, c.Image)
		}
	}
	r.Images = slices.DeleteFunc(r.Images, func(image string) bool { return image == "" })
	slices.Sort(r.Images)
	r.Images = slices.Compact(r.Images)
	r.properties(o.Metadata.Annotations.Properties)
	r.Package = cmp.Or(r.Package, packageLabel(o.Metadata))
	if r.Package == "" {
		r.Notes = append(r.Notes, notePackage)
	}
	switch status.Phase {
	case phaseFailed:
		r.Notes = append(r.Notes, fmt.Sprintf("its installation failed (%s); OLM updates it when that is fixed, or if the OperatorGroup's upgradeStrategy allows failing forward", orUnknown(status.Reason)))
	case phasePending:
		r.Notes = append(r.Notes, fmt.Sprintf("its installation is pending (%s); OLM updates it when that is fixed", orUnknown(status.Reason)))
	}
	sortAPIs(&r.Operator)
	return r, true, nil
}

// properties reads the properties of the bundle, which OLM keeps in an annotation:
// {"properties":[{"type":"olm.package","value":{...}}]}. As in OLM's dashboards, values that cannot
// be parsed are ignored.
func (r *record) properties(annotation string) {
	var list struct {
		Properties []struct {
			Type  string          `json:"type"`
			Value json.RawMessage `json:"value"`
		} `json:"properties"`
	}
	if json.Unmarshal([]byte(annotation), &list) != nil {
		return
	}
	for _, p := range list.Properties {
		switch p.Type {
		case "olm.package":
			var value struct{ PackageName, Version, Release string }
			if json.Unmarshal(p.Value, &value) == nil {
				r.Package = value.PackageName
				r.Version = cmp.Or(r.Version, value.Version)
				r.Release = cmp.Or(r.Release, value.Release)
			}
		case "olm.maxOpenShiftVersion":
			// A number in some bundles, although OLM requires a string.
			r.MaxOpenShift = strings.Trim(string(p.Value), `"`)
		case "olm.gvk":
			var value API
			if json.Unmarshal(p.Value, &value) == nil {
				r.APIs = append(r.APIs, value)
			}
		}
	}
}

// packageLabel returns the package in the label operators.coreos.com/PACKAGE.NAMESPACE. It returns
// "" if there is no such label, more than one, or one that was truncated because it was too long.
func packageLabel(m metadata) string {
	found := ""
	for label := range m.Labels {
		name, ok := strings.CutPrefix(label, groupClassic+"/")
		if !ok {
			continue
		}
		if name, ok = strings.CutSuffix(name, "."+m.Namespace); !ok || found != "" {
			return ""
		}
		found = name
	}
	return found
}

func sortAPIs(o *Operator) {
	elements.Sort(o.APIs, func(a, b API) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	o.APIs = slices.Compact(o.APIs)
}
