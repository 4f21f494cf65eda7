package resolve_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/resolve"
)

// TestRealCatalogs resolves the dependencies of real operators. The head of the default channel is kept,
// or everything if older bundles have more dependencies. The other packages are outlines.
func TestRealCatalogs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads real data")
	}
	root, err := os.OpenRoot("../../../../shared/catalogs")
	if err != nil {
		t.Skip("there are no real catalogs beside the checkout")
	}
	defer root.Close()
	asking := []string{
		"alloydb-omni-operator", "dbaas-operator", "linstor-operator", "operator-certification-operator",
		"rabbitmq-messaging-topology-operator", "shipwright-operator",
	}
	r := catalog.NewReader(catalog.Options{Keep: func(name string) bool { return slices.Contains(asking, name) }, Outline: true})
	for _, folder := range append([]string{
		"ack-rds-controller", "cert-manager", "openshift-cert-manager-operator", "openshift-pipelines-operator-rh",
		"rabbitmq-cluster-operator", "service-binding-operator",
	}, asking...) {
		files, err := fs.Glob(root.FS(), folder+"/catalog.*")
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v %v", folder, files, err)
		}
		file, err := root.Open(files[0])
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := r.File(files[0], file); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := r.Catalog()
	if err != nil {
		t.Fatal(err)
	}

	for pkg, tc := range map[string]struct {
		want  []string
		unmet []string
	}{
		"rabbitmq-messaging-topology-operator": {want: []string{"c stable rabbitmq-cluster-operator.v2.22.3"}},
		// Two packages provide the APIs; the oldest bundle depends on one of them by name.
		"alloydb-omni-operator":           {want: []string{"c stable cert-manager.v1.16.5"}},
		"operator-certification-operator": {want: []string{"c latest openshift-pipelines-operator-rh.v1.23.1"}},
		"shipwright-operator":             {want: []string{"c latest openshift-pipelines-operator-rh.v1.23.1", "c stable cert-manager.v1.16.5"}},
		// The range of one is far below the head; the other constraint matches by its second alternative.
		"dbaas-operator": {want: []string{"c alpha ack-rds-controller.v0.1.3", "c stable service-binding-operator.v1.4.0"}},
		"linstor-operator": {unmet: []string{
			"an operator that provides monitoring.coreos.com/v1 PodMonitor",
			"an operator that provides monitoring.coreos.com/v1 PrometheusRule",
			"an operator that provides monitoring.coreos.com/v1 ServiceMonitor",
		}},
	} {
		t.Run(pkg, func(t *testing.T) {
			p := whole.Package(pkg)
			kept := graph.Inspect(p.Channel(p.DefaultChannel).Entries).Heads
			if pkg == "linstor-operator" || pkg == "alloydb-omni-operator" {
				for _, b := range p.Bundles {
					kept = append(kept, b.Name)
				}
			}
			all, last := closure(t, []resolve.Catalog{{Name: "c", Wanted: true, Original: whole}}, map[string][]string{"c": kept})
			got := refs(all)
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			var unmet []string
			for _, u := range last.Unsatisfied {
				unmet = append(unmet, u.Requirement)
				if !strings.Contains(u.Reason, "no catalog of the configuration has one") {
					t.Error(u)
				}
			}
			slices.Sort(unmet)
			if diff := cmp.Diff(tc.unmet, unmet); diff != "" {
				t.Error(diff)
			}
		})
	}
}
