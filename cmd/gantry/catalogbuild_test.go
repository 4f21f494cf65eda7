package main

import (
	"strings"
	"testing"
)

// TestCatalogVerbs checks the flags, texts and exit statuses of gantry catalog. Package authoring tests what the verbs do.
func TestCatalogVerbs(t *testing.T) {
	t.Parallel()
	w := newCatalogFixture(t)
	folder, to := w.path("zoo"), w.docker("/made/zoo:v1")
	built := w.must("catalog", "build", folder, to)
	name, digest, _ := strings.Cut(strings.TrimSpace(built.stdout), "\n")
	if want := w.mirror.Host + "/made/zoo:v1@" + digest; name != want {
		t.Errorf("the printed image is %s, want %s", name, want)
	}
	w.says(w.must("catalog", "build", folder, to, "--output", "json").stdout, `{"version":1,"image":"`+name+`","digest":"`+digest+`","binaryLess":true}`)
	w.says(w.must("catalog", "validate", w.mirror.Host+"/made/zoo:v1").stdout, "valid (4 packages, 5 channels, 9 bundles)")
	w.must("catalog", "convert", folder, "--output-dir", w.path("yaml"), "--files", "yaml")
	w.must("catalog", "diff", folder, w.path("yaml"), "--exit-code")
	if o := w.gantry("catalog", "diff", folder, w.path("river"), "--exit-code"); o.code != exitSomething {
		t.Errorf("other catalogs: %d\n%s", o.code, o.stderr)
	}
	if json, yaml := w.must("catalog", "render", folder).stdout, w.must("catalog", "render", "-o", "yaml", folder).stdout; strings.Count(json, "\n") != strings.Count(yaml, "---\n") {
		t.Errorf("rendered %d objects as JSON and %d as YAML", strings.Count(json, "\n"), strings.Count(yaml, "---\n"))
	}
	semver := w.write("semver.yaml", "schema: olm.semver\nstable:\n  bundles:\n  - image: registry.example.com/kelp/absent:v1\n")
	if o := w.gantry("catalog", "validate", semver); o.code != exitError || !strings.Contains(o.stdout, "semver.yaml:1: this is a catalog template") || !strings.Contains(o.stderr, "1 problem") {
		t.Errorf("a template: %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for args, words := range map[string]string{
		"catalog build " + folder + " file://" + w.path("disk"):                     "docker://|oci://",
		"catalog render --output-dir out " + semver:                                 "--template",
		"catalog render --component x " + semver:                                    "--component need --template",
		"catalog build " + folder + " " + to + " --dest-authfile absent":            "(named by --dest-authfile)",
		"catalog filter -c none.yaml --output-dir " + w.path("out") + " -o nothing": "text, json",
	} {
		w.refuse(exitUsage, strings.Split(words, "|"), strings.Fields(args)...)
	}
}
