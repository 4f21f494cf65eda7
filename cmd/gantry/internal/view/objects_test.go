package view

import (
	"testing"

	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/plan/cluster"
)

// TestObjects checks how changes of cluster resources are printed, with the commands for objects that
// disappear.
func TestObjects(t *testing.T) {
	set := func(name string) resources.ObjectName {
		return resources.ObjectName{Kind: "ImageTagMirrorSet", Name: name}
	}
	source := func(name string) resources.ObjectName {
		return resources.ObjectName{Kind: "CatalogSource", Namespace: "openshift-marketplace", Name: name}
	}
	for want, c := range map[string]*resources.Changes{
		"": {Unchanged: 3},
		"Cluster resources that a run would change in dir:\n  1 object added: ImageTagMirrorSet a\n": {Added: []resources.ObjectName{set("a")}},
		`Cluster resources that a run would change in dir:
  1 object added: ImageTagMirrorSet a
  6 objects changed: ImageTagMirrorSet b, ImageTagMirrorSet c, ImageTagMirrorSet d, ImageTagMirrorSet e, ImageTagMirrorSet f and 1 more
  3 objects removed: CatalogSource openshift-marketplace/x, CatalogSource openshift-marketplace/y, ImageTagMirrorSet z; in clusters that have them:
    oc delete catalogsource -n openshift-marketplace x y
    oc delete imagetagmirrorset z
  note: one
`: {
			Added: []resources.ObjectName{set("a")}, Changed: []resources.ObjectName{set("b"), set("c"), set("d"), set("e"), set("f"), set("g")},
			Removed: []resources.ObjectName{source("x"), source("y"), set("z")},
		},
		`Cluster resources that a run would change in dir:
  1 object added: CatalogSource openshift-marketplace/new
  CatalogSource openshift-marketplace/old is now called new; after oc apply, change the Subscriptions and delete the old one:
    oc get subscriptions.operators.coreos.com -A -o jsonpath='{range .items[?(@.spec.source=="old")]}{.metadata.namespace} {.metadata.name}{"\n"}{end}' | while read -r ns name; do oc patch subscriptions.operators.coreos.com "$name" -n "$ns" --type merge -p '{"spec":{"source":"new","sourceNamespace":"openshift-marketplace"}}'; done
    oc delete catalogsource -n openshift-marketplace old
  note: one
`: {
			Added: []resources.ObjectName{source("new")}, Removed: []resources.ObjectName{source("old")},
			Renamed: []resources.RenamedObject{{From: source("old"), To: source("new")}},
		},
		`Cluster resources that a run would change in dir:
  2 objects no longer applied: CatalogSource openshift-marketplace/x, ImageTagMirrorSet z; clusters that have them keep them until they are deleted:
    oc delete catalogsource -n openshift-marketplace x
    oc delete imagetagmirrorset z
`: {NotApplied: []resources.ObjectName{source("x"), set("z")}},
		`Cluster resources that a run would change in dir:
  2 objects no longer changed: Image cluster, OperatorHub cluster; clusters keep the settings until they are set back:
    oc patch image.config.openshift.io cluster --type merge -p '{"spec":{"additionalTrustedCA":null}}'
    oc patch operatorhub.config.openshift.io cluster --type merge -p '{"spec":{"disableAllDefaultSources":false}}'
`: {Settings: []resources.Setting{
			{ObjectName: resources.ObjectName{Kind: "Image", Name: "cluster"}, Group: "config.openshift.io", Patch: `{"spec":{"additionalTrustedCA":null}}`},
			{ObjectName: resources.ObjectName{Kind: "OperatorHub", Name: "cluster"}, Group: "config.openshift.io", Patch: `{"spec":{"disableAllDefaultSources":false}}`},
		}},
	} {
		f := &cluster.ResourceFiles{Dir: "dir", Objects: c}
		if len(c.Removed) > 0 {
			f.Notes = []string{"one"}
		}
		if got := PlannedResources(f); got != want {
			t.Errorf("printed\n%s\nwant\n%s", got, want)
		}
	}
	if got := PlannedResources(nil); got != "" {
		t.Errorf("without a registry: %q", got)
	}
}
