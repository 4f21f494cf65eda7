package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

const tinyCatalog = `{"schema":"olm.package","name":"a","defaultChannel":"stable"}
{"schema":"olm.channel","package":"a","name":"stable","entries":[{"name":"a.v1.0.0"}]}
{"schema":"olm.bundle","package":"a","name":"a.v1.0.0","image":"quay.io/org/a:v1.0.0","properties":[{"type":"olm.package","value":{"packageName":"a","version":"1.0.0"}}]}
`

// TestCatalogArguments checks that wrong arguments are refused before any request is sent and any
// file is written.
func TestCatalogArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	fail.On(t, os.MkdirAll("cat", 0o755))
	fail.On(t, os.WriteFile("cat/catalog.json", []byte(tinyCatalog), 0o644))
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
		if o := runGantry(t, "", strings.Fields(args)...); o.code != exitUsage || !strings.Contains(o.stderr, want) || o.stdout != "" {
			t.Errorf("gantry %s: %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("files were left behind: %v, %v", entries, err)
	}
}
