package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/authoring"
)

// TestFilterRealCatalog filters real packages, validates the result, and filters it again. Package authoring tests the verb,
// and plan/build that a plan keeps the same.
func TestFilterRealCatalog(t *testing.T) {
	t.Parallel()
	long(t)
	const shared = "../../../shared/catalogs"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("there is no ../shared/catalogs beside the checkout")
	}
	w := &fixture{t: t, dir: t.TempDir()}
	for _, p := range []string{"habana-ai-operator", "gatekeeper-operator-product", "kubecost-operator", "rabbitmq-messaging-topology-operator", "rabbitmq-cluster-operator", "shipwright-operator", "tigera-operator", "kube-green"} {
		if err := os.CopyFS(w.path("real/"+p), os.DirFS(filepath.Join(shared, p))); err != nil {
			t.Fatal(err)
		}
	}
	const stanza = `    dependencies: true
    packages:
    - name: habana-ai-operator
      channels: [{name: stable, minVersion: 1.22.2-32}]
    - name: gatekeeper-operator-product
      minVersion: 3.11.2
      maxVersion: 3.11.2
      defaultChannel: "3.11"
    - name: kubecost-operator
    - name: rabbitmq-messaging-topology-operator
    - name: shipwright-operator
    installed:
    - {package: kubecost-operator, bundle: kubecost-operator.v3.1.0}
`
	filter := func(source, to string) (r authoring.FilterResult) {
		t.Helper()
		isc := w.config("isc.yaml", "  operators:\n  - catalog: dir://"+w.path(source)+"\n"+stanza)
		o := w.must("catalog", "filter", "-c", isc, "--output-dir", w.path(to), "--images", w.path(to+".txt"), "-o", "json")
		if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r.Images, strings.Split(strings.TrimSuffix(w.read(to+".txt"), "\n"), "\n")); diff != "" {
			t.Errorf("the file of images is not what the report lists: %s", diff)
		}
		return r
	}
	report := filter("real", "filtered")
	w.must("catalog", "validate", w.path("filtered/real"))
	seen := map[string]bool{}
	for _, p := range report.Catalogs[0].Packages {
		for _, c := range p.Channels {
			for _, b := range c.Bundles {
				seen[b.Reason] = true
			}
		}
	}
	if diff := cmp.Diff([]string{"dependency", "head", "installed", "range"}, slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(reason string) bool { return reason == "continuity" })); diff != "" {
		t.Errorf("why bundles are kept: %s", diff)
	}
	w.says(strings.Join(report.Notes, "\n"), "needs an operator that provides operator.tekton.dev/v1alpha1 TektonConfig: no catalog")
	kept := w.tree("filtered/real")
	for name, want := range map[string]bool{"rabbitmq-cluster-operator": true, "tigera-operator": false, "kube-green": false} {
		if (kept[name+"/catalog.json"] != "") != want {
			t.Errorf("%s is kept: %t", name, !want)
		}
	}
	again := filter("filtered/real", "again")
	if diff := cmp.Diff(kept, w.tree("again/real")); diff != "" {
		t.Errorf("filtering it again changed it: %s", diff)
	}
	if diff := cmp.Diff(report.Images, again.Images); diff != "" {
		t.Errorf("filtering it again changed its images: %s", diff)
	}
}
