package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/crdsafety"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/cluster/check"
)

// TestCheckText checks the text of everything that gantry check finds out about operators.
func TestCheckText(t *testing.T) {
	t.Parallel()
	changed := func(n int) (all []crdsafety.Violation) {
		for range n {
			all = append(all, crdsafety.Violation{Rule: crdsafety.RemovedField, Version: "v1", Field: "spec.size"})
		}
		return all
	}
	for _, tc := range []struct {
		name  string
		check OperatorCheck
		want  string
	}{
		{"nothing", OperatorCheck{Mirrored: []check.MirroredCheck{{At: "docker://mirror.example.com"}}}, ""},
		{"heads that fit", OperatorCheck{Upgrades: upgrade.Report{ClusterVersion: "4.19.3", Kubernetes: "1.32", Offered: []upgrade.Offer{}}}, "All heads of default channels fit OpenShift 4.19.3 (Kubernetes 1.32).\n"},
		{"an operator", OperatorCheck{Upgrades: upgrade.Report{Operators: []upgrade.Result{{
			Bundle: "a.v1.0.0", Generation: "OLM classic", Namespace: "ns", Outcome: upgrade.Stranded,
			Paths: []upgrade.Path{{
				Catalog: "quay.io/org/index:v1", Channel: "stable", Explanation: "there is no upgrade path to the head a.v3.0.0",
				Hops: []upgrade.Hop{{To: "a.v2.0.0", Edge: "replaces", Blocks: []upgrade.Block{
					{Kind: upgrade.MissingAPI, Message: "it needs an API"}, {Kind: upgrade.NotUpgradeable, Possible: true, Message: "it waits"},
				}}},
				Fixes: []upgrade.Fix{{Message: "keep a.v2.1.0"}},
			}},
			Unnamed: []string{"r/a", "r/b", "r/c", "r/d"}, Notes: []string{"a note"},
		}}}}, `a.v1.0.0 (OLM classic, ns): STRANDED
  in quay.io/org/index:v1, channel stable: there is no upgrade path to the head a.v3.0.0
    -> a.v2.0.0 (replaces)
       blocked: it needs an API
       may be blocked: it waits
    to fix it: keep a.v2.1.0
  note: it runs 4 images that no bundle of the mirror names, so that pods may not start again: r/a, r/b, r/c and 1 more
    to fix it: add a.v1.0.0 to installed of the catalog in the configuration, or update the operator
  note: a note
`},
		{"the platform", OperatorCheck{Upgrades: upgrade.Report{Platform: []upgrade.Block{
			{Kind: upgrade.NotUpgradeable, Message: "ClusterOperator network: Upgradeable is False (Migrating: wait)"},
		}}}, "blocked: ClusterOperator network: Upgradeable is False (Migrating: wait)\n"},
		{"an API of two packages", OperatorCheck{Upgrades: upgrade.Report{Conflicts: []upgrade.Conflict{
			{Group: "x.io", Kind: "A", Packages: []string{"p", "q"}}, {Group: "x.io", Kind: "B", Packages: []string{"p", "r"}}, {Group: "x.io", Kind: "C", Packages: []string{"p", "q"}},
		}}}, "note: packages p, q provide A (x.io), C (x.io), and OLM installs only one of them in a cluster; choose one\n" +
			"note: packages p, r provide B (x.io), and OLM installs only one of them in a cluster; choose one\n"},
		{"heads", OperatorCheck{Upgrades: upgrade.Report{ClusterVersion: "4.19.3", Kubernetes: "1.32", Offered: []upgrade.Offer{
			{Catalog: "quay.io/org/index:v1", Package: "a", Channel: "stable", Bundle: "a.v2.0.0", Version: "2.0.0", Blocks: []upgrade.Block{{Message: "a.v2.0.0 needs Kubernetes 1.33.0"}}},
		}}}, `Heads that do not fit OpenShift 4.19.3 (Kubernetes 1.32):
  a 2.0.0, channel stable of quay.io/org/index:v1
    blocked: a.v2.0.0 needs Kubernetes 1.33.0
  to fix it: mirror another version of them (minVersion, maxVersion or channels in the configuration), or a newer catalog
`},
		{"definitions", OperatorCheck{CRDSafety: &check.CRDSafety{
			Updates: 4,
			Refused: []check.ComparedUpdate{
				{Catalog: "c", Package: "a", From: "a.v1", To: "a.v3", Via: "a.v2", Definitions: []check.ComparedDefinition{{Name: "as.x.io", Violations: changed(1)}}},
				{Catalog: "c", Package: "b", From: "b.v1", To: "b.v2", Definitions: []check.ComparedDefinition{{Name: "bs.x.io", Violations: changed(7)}}},
			},
			Possible: []check.ComparedUpdate{{Catalog: "c", Package: "d", From: "d.v1", To: "d.v2"}},
			Unread:   []check.UnreadBundle{{Catalog: "c", Package: "e", Bundle: "e.v1", Error: "reading its image: not found"}},
		}}, `a.v1 -> a.v3 (package a of c): REFUSED by OLM v1
  as.x.io: v1: spec.size: the field was removed (rule removedField)
  to fix it: pin spec.source.catalog.version of the ClusterExtension to the version of a.v2 first
b.v1 -> b.v2 (package b of c): REFUSED by OLM v1
  bs.x.io: v1: spec.size: the field was removed (rule removedField)
  bs.x.io: v1: spec.size: the field was removed (rule removedField)
  bs.x.io: v1: spec.size: the field was removed (rule removedField)
  bs.x.io: v1: spec.size: the field was removed (rule removedField)
  bs.x.io: v1: spec.size: the field was removed (rule removedField)
  bs.x.io: 2 more changes; -o json lists all
  to fix it: check the custom resources of the cluster, then set spec.install.preflight.crdUpgradeSafety.enforcement of the ClusterExtension to None for this update
d.v1 -> d.v2 (package d of c): may be refused by OLM v1
e.v1 (c): its CustomResourceDefinitions are UNKNOWN
  reading its image: not found
CRD upgrade safety: 4 updates compared, 2 refused, 1 possibly refused
`},
		{"definitions that the API server refuses, too", OperatorCheck{CRDSafety: &check.CRDSafety{
			Updates: 3,
			Refused: []check.ComparedUpdate{
				{Catalog: "c", Package: "a", From: "a.v1", To: "a.v2", Definitions: []check.ComparedDefinition{{Name: "as.x.io", Violations: []crdsafety.Violation{
					{Rule: crdsafety.Scope, Old: "Cluster", New: "Namespaced"}, {Rule: crdsafety.StoredVersion, Version: "v1alpha1"},
				}}}},
				{Catalog: "c", Package: "b", From: "b.v1", To: "b.v2", Definitions: []check.ComparedDefinition{{Name: "bs.x.io", Violations: append([]crdsafety.Violation{{Rule: crdsafety.StoredVersion, Version: "v1beta1"}}, changed(1)...)}}},
			},
			Possible: []check.ComparedUpdate{{Catalog: "c", Package: "d", From: "d.v1", To: "d.v2", Definitions: []check.ComparedDefinition{{Name: "ds.x.io", Violations: []crdsafety.Violation{{Rule: crdsafety.StoredVersion, Version: "v1beta1", Possible: true}}}}}},
		}}, `a.v1 -> a.v2 (package a of c): REFUSED by OLM v1
  as.x.io: the scope was changed from Cluster to Namespaced (rule scope)
  as.x.io: v1alpha1: the version in which objects are stored was removed (rule storedVersion)
  to fix it: the API server refuses a changed scope, too: save the custom resources, uninstall the operator, delete as.x.io, install a.v2, and create the resources again
b.v1 -> b.v2 (package b of c): REFUSED by OLM v1
  bs.x.io: v1beta1: the version in which objects are stored was removed (rule storedVersion)
  bs.x.io: v1: spec.size: the field was removed (rule removedField)
  to fix it: the API server refuses to remove stored versions, too: store all objects of bs.x.io in a version that b.v2 has, and remove the others from its status.storedVersions; or save the objects, uninstall the operator, delete bs.x.io, and install b.v2
  for the other changes: check the custom resources of the cluster, then set spec.install.preflight.crdUpgradeSafety.enforcement of the ClusterExtension to None for this update
d.v1 -> d.v2 (package d of c): may be refused by OLM v1
  ds.x.io: v1beta1: the version was removed, which is refused if status.storedVersions lists it (rule storedVersion)
  to fix it: if status.storedVersions of ds.x.io lists a removed version: store all objects in a version that d.v2 has, and remove the others from that list
CRD upgrade safety: 3 updates compared, 2 refused, 1 possibly refused
`},
	} {
		if diff := cmp.Diff(tc.want, tc.check.Text()); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}
