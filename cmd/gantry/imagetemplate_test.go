package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestCatalogImageTemplate mirrors the catalogs that the annotation olm.catalogImageTemplate names for
// the releases of the plan, directly and over a disk.
func TestCatalogImageTemplate(t *testing.T) {
	t.Parallel()
	var u releasetest.Definition
	for _, version := range []string{"4.19.7", "4.20.5"} {
		u.Releases = append(u.Releases, releasetest.Release{Version: version, Components: []string{"cli", "cluster-version-operator", "hyperkube"}, Previous: []string{"4.19.7"}})
	}
	u.Releases[0].Previous = nil
	u.Channels = map[string][]string{"stable-4.20": {"4.19.7", "4.20.5"}}
	w := newPlatformFixture(t, u)
	push := func(repository, tag string, content registrytest.Content) string {
		t.Helper()
		d, err := w.source.Client().Push(t.Context(), "quay.io/"+repository, tag, content)
		if err != nil {
			t.Fatal(err)
		}
		return "quay.io/" + repository + "@" + d.String()
	}
	for _, tag := range []string{"v4.20", "v1.32", "v1.33.5"} {
		text := `{"schema":"olm.package","name":"kelp","defaultChannel":"stable"}` +
			`{"schema":"olm.package","name":"reed","defaultChannel":"stable"}`
		for _, pkg := range []string{"kelp", "reed"} {
			bundle, err := registrytest.BundleImage(pkg, "1.0.0-"+tag)
			if err != nil {
				t.Fatal(err)
			}
			name := pkg + ".v1.0.0-" + tag
			text += `{"schema":"olm.channel","package":"` + pkg + `","name":"stable","entries":[{"name":"` + name + `"}]}` +
				`{"schema":"olm.bundle","package":"` + pkg + `","name":"` + name + `","image":"` + push("org/"+pkg+"-bundle", tag, bundle) +
				`","properties":[{"type":"olm.package","value":{"packageName":"` + pkg + `","version":"1.0.0-` + tag + `"}}]}`
		}
		img, err := registrytest.CatalogImage(fstest.MapFS{"c.json": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		push("org/index", tag, img)
	}
	source := func(template string) string {
		return w.write("cs.yaml", "apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {annotations: {olm.catalogImageTemplate: '"+template+"'}}\n")
	}
	const operators = "  operators:\n  - catalog: quay.io/org/index:v4.20\n    targetCatalogSourceTemplate: "
	const platform = "  platform: {channels: [{name: stable-4.20, minVersion: 4.19.7, maxVersion: 4.20.5}]}\n"
	const patch = "quay.io/org/index:v{kube_major_version}.{kube_minor_version}.{kube_patch_version}"
	w.config("imageset.yaml", platform+operators+source(patch)+"\n    packages: [{name: kelp}]\n")

	planned := w.must("plan", "-c", w.path("imageset.yaml")).stdout
	for _, want := range []string{"quay.io/org/index:v1.33.5", "quay.io/org/index:v1.32.7 does not exist, so clusters with Kubernetes 1.32.7 would find no catalog"} {
		if !strings.Contains(planned, want) {
			t.Errorf("the plan does not name %s:\n%s", want, planned)
		}
	}
	w.must("mirror", "-c", w.path("imageset.yaml"), w.docker("/direct"))
	w.must("mirror", "-c", w.path("imageset.yaml"), "file://"+w.path("disk"))
	plug := w.unplug()
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/disk"), "--workspace", w.path("site"))
	plug()
	for place, workspace := range map[string]string{"direct": "workspace", "disk": "site"} {
		content := w.stores(place)
		tags := content["org/index"].Tags
		if diff := cmp.Diff([]string{"v1.33.5", "v4.20"}, slices.Sorted(maps.Keys(tags))); diff != "" {
			t.Errorf("%s: %s", place, diff)
		}
		if content["org/reed-bundle"].Name != "" || len(content["org/kelp-bundle"].Manifests) != 2 {
			t.Errorf("%s has other bundles than those that were selected: %v", place, content)
		}
		files := w.tree(workspace + "/cluster-resources")
		found := 0
		for name, text := range files {
			if strings.Contains(name, "components/") { // copies
				continue
			}
			if !strings.Contains(name, "cs-") && !strings.Contains(name, "cc-") || !strings.Contains(text, "/"+place+"/") {
				continue
			}
			found++
			want := "olm.catalogImageTemplate: " + w.mirror.Host + "/" + place + "/org/index:v{kube_major_version}.{kube_minor_version}.{kube_patch_version}\n"
			if strings.Contains(name, "cs-") && !strings.Contains(text, want) {
				t.Errorf("%s has not %s:\n%s", name, want, text)
			}
		}
		if found != 2 {
			t.Errorf("%s has %d objects for catalogs, want a CatalogSource and a ClusterCatalog", place, found)
		}
	}

	w.must("verify", "--from", "file://"+w.path("disk"), w.docker("/disk"), "--workspace", w.path("site"))
	sources, err := filepath.Glob(w.path("site/cluster-resources/cs-*.yaml"))
	if err != nil || len(sources) != 1 {
		t.Fatalf("%v %v", sources, err)
	}
	w.change(sources[0], "/index:v{kube", "/index:w{kube")
	o := w.gantry("verify", "--from", "file://"+w.path("disk"), w.docker("/disk"), "--workspace", w.path("site"))
	if o.code != exitMismatch || !strings.Contains(o.stdout, "the mirror has no image that the annotation resolves to") {
		t.Errorf("verify ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}

	// What cannot be resolved is said.
	for _, tc := range []struct{ name, text, want string }{
		{"no releases", operators + source(patch), "the versions of the clusters are unknown"},
		{"bad variable", platform + operators + source("quay.io/org/index:v{kube}"), "OLM ignores it"},
	} {
		if o := w.must("plan", "-c", w.config("other.yaml", tc.text+"\n    packages: [{name: kelp}]\n")); !strings.Contains(o.stdout, tc.want) {
			t.Errorf("%s: the plan does not say %q:\n%s", tc.name, tc.want, o.stdout)
		}
	}
	cluster := w.write("cluster.yaml", "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nstatus: {history: [{version: 4.19.7, state: Completed}]}\n")
	w.config("other.yaml", operators+source("quay.io/org/index:v{kube_major_version}.{kube_minor_version}")+"\n    packages: [{name: kelp}]\n")
	if o := w.must("plan", "-c", w.path("other.yaml"), "--installed", cluster); !strings.Contains(o.stdout, "Catalog quay.io/org/index:v1.32\n") {
		t.Errorf("the version of the cluster is not used:\n%s", o.stdout)
	}
}
