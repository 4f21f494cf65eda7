package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// realFilter is a configuration of real packages: heads, ranges, pins, pre-release
// versions, build metadata, another default channel, upgrade paths that are kept, and dependencies.
const realFilter = `    dependencies: true
    packages:
    - name: habana-ai-operator
      channels: [{name: stable, minVersion: 1.22.2-32}]
    - name: gatekeeper-operator-product
      minVersion: 3.11.2
      maxVersion: 3.11.2
      defaultChannel: "3.11"
    - name: kubecost-operator
    - name: eda-k8s-operator
    - name: external-dns-operator
      minVersion: 1.2.0
    - name: openshift-cert-manager-operator
      channels: [{name: stable-v1}]
    - name: rabbitmq-messaging-topology-operator
    - name: shipwright-operator
    - name: kepler-operator
    installed:
    - {package: kubecost-operator, bundle: kubecost-operator.v3.1.0}
    - {package: kepler-operator, version: 0.9.2}
`

// realFilterPackages are the packages of the configuration, their dependencies, and some packages that
// must not be kept.
var realFilterPackages = []string{
	"habana-ai-operator", "gatekeeper-operator-product", "kubecost-operator", "eda-k8s-operator", "external-dns-operator",
	"openshift-cert-manager-operator", "rabbitmq-messaging-topology-operator", "rabbitmq-cluster-operator", "shipwright-operator",
	"kepler-operator", "tigera-operator", "kube-green",
}

// realFolder copies real packages into a folder of the fixture.
func (w *fixture) realFolder(name string, packages []string) string {
	w.t.Helper()
	const shared = "../../../shared/catalogs"
	if _, err := os.Stat(shared); err != nil {
		w.t.Skip("there is no ../shared/catalogs beside the checkout")
	}
	for _, p := range packages {
		if err := os.CopyFS(filepath.Join(w.path(name), p), os.DirFS(filepath.Join(shared, p))); err != nil {
			w.t.Fatal(err)
		}
	}
	return "dir://" + w.path(name)
}

// A filterReport is the JSON of gantry catalog filter.
type filterReport struct {
	Catalogs []struct {
		Folder   string
		Packages []plan.Package
	}
	Images []string
	Notes  []string
}

// filter runs gantry catalog filter, which must succeed, and returns the report and the images.
func (w *fixture) filter(isc, dir string) (r filterReport, images []string) {
	w.t.Helper()
	o := w.must("catalog", "filter", "-c", isc, "--output-dir", w.path(dir), "--images", w.path(dir+".txt"), "-o", "json")
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		w.t.Fatal(err)
	}
	images = strings.Split(strings.TrimSuffix(w.read(dir+".txt"), "\n"), "\n")
	if diff := cmp.Diff(r.Images, images); diff != "" {
		w.t.Errorf("the file of images is not what the report lists: %s", diff)
	}
	return r, images
}

// full returns complete references, sorted, without duplicates.
func full(t *testing.T, refs []string) []string {
	t.Helper()
	var all []string
	for _, text := range refs {
		ref, err := reference.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ref.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestFilterRealCatalog filters real packages, validates the result, and compares it with the plan of
// the same configuration and with the result of filtering it again.
func TestFilterRealCatalog(t *testing.T) {
	t.Parallel()
	long(t)
	w := emptyFixture(t, registrytest.New(t, registrytest.Options{}))
	source := w.realFolder("real", realFilterPackages)
	isc := w.config("real.yaml", "  operators:\n  - catalog: "+source+"\n"+realFilter)
	report, images := w.filter(isc, "filtered")
	folder := w.path("filtered/real")
	if len(report.Catalogs) != 1 || report.Catalogs[0].Folder != folder {
		t.Fatalf("written to %+v", report.Catalogs)
	}
	w.must("catalog", "validate", folder)

	// Every bundle has a reason, and all kinds of them occur.
	seen := map[string]int{}
	for _, p := range report.Catalogs[0].Packages {
		for _, c := range p.Channels {
			for _, b := range c.Bundles {
				seen[b.Reason]++
				if b.Reason == "" || b.Reason == "dependency" && b.For == "" {
					t.Errorf("package %s, channel %s: %s is kept for %q %q", p.Name, c.Name, b.Name, b.Reason, b.For)
				}
			}
		}
	}
	for _, reason := range []string{"head", "range", "installed", "dependency"} {
		if seen[reason] == 0 {
			t.Errorf("no bundle is kept for the reason %s: %v", reason, seen)
		}
	}
	kept := w.tree("filtered/real")
	if kept["rabbitmq-cluster-operator/catalog.json"] == "" {
		t.Error("rabbitmq-cluster-operator is a dependency, and missing")
	}
	if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, "needs an operator that provides operator.tekton.dev/v1alpha1 TektonConfig: no catalog") {
		t.Errorf("there is no note that a dependency of shipwright-operator is not provided:\n%s", notes)
	}
	for _, name := range []string{"tigera-operator", "kube-green"} {
		if kept[name+"/catalog.json"] != "" {
			t.Errorf("%s was kept without a reason", name)
		}
	}

	// The plan of the same configuration names the same images. Only one of them exists, so that the
	// plan can be made.
	w.standFor(append([]string{"registry.example.com"}, hosts(t, images)...)...)
	extra, err := smallImage("bundle", "registry.example.com/extra:v1")
	if err != nil {
		t.Fatal(err)
	}
	w.push("registry.example.com/extra:v1", extra)
	planned := w.write("planned.yaml", w.read("real.yaml")+"  additionalImages: [{name: 'registry.example.com/extra:v1'}]\n")
	if o := w.gantry("plan", "-c", planned, "-o", w.path("plan.json")); o.code != exitPartial {
		t.Fatalf("plan ended with %d\n%s", o.code, o.stderr)
	}
	p := w.readPlan("plan.json")
	var sources []string
	for _, m := range p.Missing {
		sources = append(sources, m.Source)
	}
	if diff := cmp.Diff(full(t, images), full(t, sources)); diff != "" || len(images) < 100 {
		t.Errorf("the images of filter (%d) and of plan (-filter +plan): %s", len(images), diff)
	}
	if diff := cmp.Diff(report.Catalogs[0].Packages, p.Catalogs[0].Packages); diff != "" {
		t.Errorf("what filter keeps and what plan keeps: %s", diff)
	}

	// Filtering the result again changes nothing.
	twice := w.write("real.yaml", strings.ReplaceAll(w.read("real.yaml"), source, "dir://"+folder))
	_, again := w.filter(twice, "again")
	if diff := cmp.Diff(kept, w.tree("again/real")); diff != "" {
		t.Errorf("filtering it again changed it: %s", diff)
	}
	if diff := cmp.Diff(images, again); diff != "" {
		t.Errorf("filtering it again changed its images: %s", diff)
	}
}

// hosts returns the registries of images.
func hosts(t *testing.T, images []string) []string {
	t.Helper()
	var all []string
	for _, ref := range full(t, images) {
		host, _, _ := strings.Cut(ref, "/")
		all = append(all, host)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestFilterHeadsOfRealCatalog filters all packages to their heads, in YAML, and then keeps everything.
func TestFilterHeadsOfRealCatalog(t *testing.T) {
	t.Parallel()
	long(t)
	w := &fixture{t: t, dir: t.TempDir()}
	source := w.realFolder("real", []string{"openshift-cert-manager-operator", "tigera-operator", "kubevirt-wol"})
	for _, full := range []bool{false, true} {
		name := fmt.Sprintf("full-%v", full)
		isc := w.config("all.yaml", fmt.Sprintf("  operators:\n  - {catalog: %s, full: %v}\n", source, full))
		w.must("catalog", "filter", "-c", isc, "--output-dir", w.path(name), "--files", "yaml")
		w.must("catalog", "validate", w.path(name+"/real"))
		code := exitSomething
		if full {
			code = exitOK
		}
		if o := w.gantry("catalog", "diff", w.path("real"), w.path(name+"/real"), "--exit-code"); o.code != code {
			t.Errorf("with full: %v, the filtered folder differs from the source with %d, want %d:\n%s", full, o.code, code, o.stdout)
		}
		first := w.tree(name)
		w.must("catalog", "filter", "-c", isc, "--output-dir", w.path(name), "--files", "yaml")
		if diff := cmp.Diff(first, w.tree(name)); diff != "" {
			t.Errorf("with full: %v, a second run wrote something else: %s", full, diff)
		}
	}
}
