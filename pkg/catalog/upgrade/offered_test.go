package upgrade_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/catalog/upgrade"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestOffers checks that the heads of default channels are compared with the cluster, also if no cluster runs
// the package.
func TestOffers(t *testing.T) {
	t.Parallel()
	max := `{"type":"olm.maxOpenShiftVersion","value":"4.18"}`
	old := csv(`{"minKubeVersion":"1.99.0"}`)
	for _, tc := range []struct {
		name, cluster, properties string
		want                      []string
	}{
		{"newer Kubernetes", "4.19", csv(`{"minKubeVersion":"1.33.0"}`), []string{"min-kube possible=false: p.v1.1.0 needs Kubernetes 1.33.0 (minKubeVersion), and OpenShift 4.19 has 1.32; update the cluster first"}},
		{"patch of Kubernetes", "4.19", csv(`{"minKubeVersion":"1.32.5"}`), []string{"min-kube possible=true: p.v1.1.0 needs Kubernetes 1.32.5 (minKubeVersion), and OpenShift 4.19 has 1.32; update the cluster first"}},
		{"new enough", "4.20", csv(`{"minKubeVersion":"1.33.0"}`), nil},
		{"beyond the maximum", "4.19.3", max, []string{"max-openshift possible=false: p.v1.1.0 supports OpenShift up to 4.18 (olm.maxOpenShiftVersion): a cluster with it is not updated to 4.19"}},
		{"the maximum", "4.18", max, nil},
		{"removed API", "4.12", csv(`{"nativeAPIs":[{"group":"policy","version":"v1beta1","kind":"PodDisruptionBudget"}]}`), []string{"missing-api possible=false: p.v1.1.0 needs PodDisruptionBudget policy/v1beta1 (nativeAPIs), which Kubernetes 1.25 removed, and OpenShift 4.12 has 1.25"}},
		{"unknown Kubernetes", "5.3.1", old, []string{"min-kube possible=true: p.v1.1.0 needs Kubernetes 1.99.0 (minKubeVersion), and the version of Kubernetes in OpenShift 5.3 is unknown; compare it with what that release contains"}},
		{"unknown Kubernetes, older than 4.3", "3.11", old, []string{"min-kube possible=true: p.v1.1.0 needs Kubernetes 1.99.0 (minKubeVersion), and the version of Kubernetes in OpenShift 3.11 is unknown; compare it with what that release contains"}},
		{"certainly new enough", "5.3.1", csv(`{"minKubeVersion":"1.29.0"}`), nil},
		{"API removed before OpenShift 5", "5.3.1", csv(`{"nativeAPIs":[{"group":"policy","version":"v1beta1","kind":"PodDisruptionBudget"}]}`), []string{"missing-api possible=false: p.v1.1.0 needs PodDisruptionBudget policy/v1beta1 (nativeAPIs), which Kubernetes 1.25 removed, and OpenShift 5.3 has a later version"}},
		{"no version", "", max, nil},
	} {
		// Only the head of the default channel counts.
		k := content(t, "stable: p.v1.0.0 p.v1.1.0<p.v1.0.0", "old: p.v0.9.0", "p.v1.1.0="+tc.properties, "p.v1.0.0="+old, "p.v0.9.0="+old)
		offers, err := upgrade.Offers([]upgrade.Catalog{{Name: "c", Kept: k}}, nil, tc.cluster)
		fail.On(t, err)
		var got []string
		for _, o := range offers {
			if o.Catalog != "c" || o.Package != "p" || o.Channel != "stable" || o.Bundle != "p.v1.1.0" || o.Version != "1.1.0" {
				t.Errorf("%s: %+v", tc.name, o)
			}
			for _, b := range o.Blocks {
				got = append(got, strings.TrimSpace(string(b.Kind)+map[bool]string{true: " possible=true", false: " possible=false"}[b.Possible]+": "+b.Message))
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
	k := content(t, "stable: p.v1.0.0", "p.v1.0.0="+old)
	r := checkOne(t, installed.Operator{Generation: graph.Classic}, k, upgrade.Options{ClusterVersion: "4.19"})
	if offers, err := upgrade.Offers([]upgrade.Catalog{{Name: "c", Kept: k}}, r.Operators, "4.19"); err != nil || len(offers) > 0 {
		t.Errorf("of a package that is checked: %v, %v", offers, err)
	}
	if _, err := upgrade.Offers(nil, nil, "four"); err == nil {
		t.Error("a version that is none is accepted")
	}
}
