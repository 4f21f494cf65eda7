package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestTemplates renders templates whose bundles are in a registry, and mirrors from one of them,
// directly and over a disk.
func TestTemplates(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t, registrytest.Start(t, registrytest.Options{}))
	for _, version := range []string{"1.2.0", "1.2.1", "1.3.0"} {
		labels, files := kelpBundle()
		csv := files["manifests/kelp.clusterserviceversion.yaml"]
		csv = strings.ReplaceAll(csv, "1.2.0", version)
		files["manifests/kelp.clusterserviceversion.yaml"] = strings.Replace(csv, "displayName: Kelp", "displayName: Kelp\n  description: Grows.", 1)
		delete(files, "metadata/dependencies.yaml")
		w.push("registry.example.com/kelp/kelp-bundle:v"+version, fileImage(t, v1.Config{Labels: labels}, files))
		w.push("registry.example.com/kelp/manager:v"+version, fileImage(t, v1.Config{}, map[string]string{"m": version}))
	}
	w.push("registry.example.com/kelp/anchor:v1", fileImage(t, v1.Config{}, map[string]string{"a": ""}))
	const list = "stable:\n  bundles:\n" +
		"  - image: registry.example.com/kelp/kelp-bundle:v1.2.1\n" +
		"  - image: registry.example.com/kelp/kelp-bundle:v1.3.0\n" +
		"  - image: registry.example.com/kelp/kelp-bundle:v1.2.0\n"
	semver := w.write("semver.yaml", "schema: olm.semver\n"+list)

	text := w.must("catalog", "render", "--template", "-o", "yaml", semver).stdout
	for _, want := range []string{
		"defaultChannel: stable-v1.3\n", "description: Grows.\n", "replaces: kelp.v1.2.1\n", "skips:\n", "- kelp.v1.2.0\n",
		"image: registry.example.com/kelp/kelp-bundle:v1.2.0\n", "type: olm.bundle.object\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if again := w.must("catalog", "render", "-o", "yaml", semver).stdout; again != text {
		t.Error("a second run renders the template to something else")
	}
	w.mkdir("rendered")
	w.write("rendered/catalog.yaml", text)
	w.must("catalog", "validate", w.path("rendered"))
	w.refuse(exitError, []string{"1 problem"}, "catalog", "validate", semver)
	w.mkdir("only")
	w.write("only/kites.yaml", w.read("semver.yaml"))
	if o := w.gantry("catalog", "validate", w.path("only")); !strings.Contains(o.stdout, "kites.yaml:1: this is a catalog template") {
		t.Errorf("the file of the template is not named:\n%s", o.stdout)
	}
	if o := w.gantry("catalog", "validate", semver); !strings.Contains(o.stdout, "semver.yaml:1: this is a catalog template") {
		t.Errorf("validate printed %s", o.stdout)
	}

	// A basic template beside a catalog is not rendered.
	w.write("rendered/basic.yaml", "schema: olm.template.basic\nentries:\n- schema: olm.bundle\n  image: registry.example.com/kelp/absent:v1\n")
	if o := w.gantry("catalog", "validate", w.path("rendered")); o.code != exitError || !strings.Contains(o.stdout, "basic.yaml:1: olm.template.basic") {
		t.Errorf("validate of a folder with a template ended with %d: %s", o.code, o.stdout)
	}
	w.refuse(exitError, []string{"registry.example.com/kelp/absent:v1"}, "catalog", "render", "--template", w.path("rendered/basic.yaml"))
	w.refuse(exitUsage, []string{"file-based catalog", "without --template"}, "catalog", "render", "--template", w.path("rendered/catalog.yaml"))
	w.refuse(exitUsage, []string{"--template"}, "catalog", "render", "--output-dir", w.path("out"), semver)
	w.refuse(exitUsage, []string{"not a composite template"}, "catalog", "render", "--template", "--output-dir", w.path("out"), semver)
	w.refuse(exitUsage, []string{"--component need --template"}, "catalog", "render", "--component", "x", semver)

	w.refuse(exitUsage, []string{"missing.yaml: no such file"}, "catalog", "render", "--template", "missing.yaml")

	// A composite template writes what opm writes.
	w.mkdir("composite")
	w.write("composite/semver.yaml", "schema: olm.semver\n"+list)
	w.write("composite/catalogs.yaml", `schema: olm.composite.catalogs
catalogs:
- {name: v4.20, destination: {workingDir: v4.20}, builders: [olm.builder.semver]}
- {name: v4.21, destination: {workingDir: v4.21}, builders: [olm.builder.semver, olm.builder.custom]}
`)
	component := func(name, builder, config string) string {
		return "- name: " + name + "\n  destination: {path: kelp}\n  strategy: {name: s, template: {schema: " + builder + ", config: {" + config + "}}}\n"
	}
	both := component("v4.20", "olm.builder.semver", "input: semver.yaml, output: catalog.yaml") +
		component("v4.21", "olm.builder.semver", "input: semver.yaml, output: catalog.yaml")
	composite := w.write("composite/composite.yaml", "schema: olm.composite\ncomponents:\n"+both)
	w.refuse(exitUsage, []string{"v4.20, v4.21"}, "catalog", "render", "--template", composite)
	w.refuse(exitUsage, []string{"v4.20, v4.21"}, "plan", "-c", w.config("composite.yaml", "  operators: [{catalog: 'dir://"+composite+"'}]\n"))
	if one := w.must("catalog", "render", "--template", "--component", "v4.21", "-o", "yaml", composite).stdout; one != text {
		t.Error("the component differs from its template")
	}
	printed := w.must("catalog", "render", "--template", "--output-dir", w.path("out"), "-o", "yaml", composite).stdout
	for _, name := range []string{"out/v4.20/kelp/catalog.yaml", "out/v4.21/kelp/catalog.yaml"} {
		if written, err := os.ReadFile(w.path(name)); err != nil || string(written) != text || !strings.Contains(printed, w.path(name)+"\n") {
			t.Errorf("%s: %v, printed %s", name, err, printed)
		}
	}
	w.write("composite/composite.yaml", "schema: olm.composite\ncomponents:\n"+component("v4.21", "olm.builder.custom", "command: touch, output: x"))
	w.refuse(exitUsage, []string{"runs a command"}, "catalog", "render", "--template", composite)
	if err := os.Remove(w.path("composite/catalogs.yaml")); err != nil {
		t.Fatal(err)
	}
	w.refuse(exitUsage, []string{"composite/catalogs.yaml"}, "catalog", "render", "--template", composite)

	// A configuration can use a template.
	w.mkdir("empty")
	w.write("empty/note.yaml", "schema: example.com/note\n")
	w.refuse(exitUsage, []string{"has no packages"}, "plan", "-c", w.config("empty.yaml", "  operators: [{catalog: 'dir://"+w.path("empty")+"'}]\n"))
	config := w.config("imageset.yaml", "  operators: [{catalog: 'dir://"+semver+"', packages: [{name: kelp}]}]\n")
	w.must("mirror", "-c", config, w.docker("/direct"))
	w.must("mirror", "-c", config, "file://"+w.path("disk"))
	w.must("mirror", "--from", "file://"+w.path("disk"), w.docker("/disk"))
	for _, prefix := range []string{"direct/", "disk/"} {
		var names []string
		for _, r := range contentBelow(t, w.mirror, strings.TrimSuffix(prefix, "/")) {
			names = append(names, strings.TrimPrefix(r.Name, prefix))
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"kelp/anchor", "kelp/kelp-bundle", "kelp/manager", "semver.yaml"}, names); diff != "" {
			t.Error(diff)
		}
	}
}
