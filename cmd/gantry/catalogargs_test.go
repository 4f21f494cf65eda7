package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tinyCatalog = `{"schema":"olm.package","name":"a","defaultChannel":"stable"}
{"schema":"olm.channel","package":"a","name":"stable","entries":[{"name":"a.v1.0.0"}]}
{"schema":"olm.bundle","package":"a","name":"a.v1.0.0","image":"quay.io/org/a:v1.0.0","properties":[{"type":"olm.package","value":{"packageName":"a","version":"1.0.0"}}]}
`

// TestCatalogArguments checks that wrong arguments are refused before any request is sent and any
// file is written.
func TestCatalogArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("cat", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("cat/catalog.json", []byte(tinyCatalog), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"catalog build cat docker://registry.example:5000":              "names no registry and repository", // not an image of docker.io
		"catalog build cat docker://catalog":                            "names no registry and repository",
		"catalog build cat oci://layout:v1":                             "give only the folder",
		"catalog list oci://nowhere":                                    "no such file",
		"catalog list quay.io/UPPER/catalog:v1":                         "must be lowercase",
		"list operators --catalogs --version 4.20 --package a":          "require --catalog",
		"graph cat a --dependencies":                                    "--dependencies is for a configuration",
		"check cat --dependencies":                                      "--dependencies is for a configuration",
		"catalog convert cat --output-dir .":                            "the working directory",
		"catalog list quay.io/org/catalog:v1 --authfile absent":         "reading credentials from absent (named by --authfile): no such file",
		"catalog build cat docker://h.example/c --dest-authfile absent": "reading credentials from absent (named by --dest-authfile): no such file",
		"mirror --from file://x -c y --installed z docker://h.example/": "are for a configuration",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("gantry %s: %d\n%s%s", args, code, stdout.String(), stderr.String())
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("files were left behind: %v, %v", entries, err)
	}
}

// TestALinkedCatalogFile checks that a catalog file may be a symbolic link.
func TestALinkedCatalogFile(t *testing.T) {
	there := filepath.Join(t.TempDir(), "catalog.json")
	if err := os.WriteFile(there, []byte(tinyCatalog), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(there, "link.json"); err != nil {
		t.Skip(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"catalog", "validate", "link.json", "-o", "yaml"}, &stdout, &stderr); code != exitOK {
		t.Fatalf("%d\n%s%s", code, stdout.String(), stderr.String())
	}
	if want := "---\ncatalog: link.json\npassed: true\nproblems: []\nversion: 1\n"; stdout.String() != want {
		t.Error(cmp.Diff(want, stdout.String()))
	}
}

// TestGraphOfAConfiguration checks that the configuration may spell the name of the catalog
// differently and may list installed operators.
func TestGraphOfAConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("cat", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"cat/catalog.json": tinyCatalog,
		"imageset.yaml": "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  operators:\n" +
			"  - catalog: dir://cat\n    packages: [{name: a}]\n    installed: [{package: a, version: 1.0.0}]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{"cat", "./cat/", "dir://cat", here + "/cat"} {
		var stdout, stderr bytes.Buffer
		code := run([]string{"graph", arg, "a", "-c", "imageset.yaml"}, &stdout, &stderr)
		if code != exitOK || !strings.Contains(stdout.String(), "The mirror keeps 1 bundle") || !strings.Contains(stdout.String(), "installed") {
			t.Errorf("%s: %d\n%s%s", arg, code, stdout.String(), stderr.String())
		}
	}
}
