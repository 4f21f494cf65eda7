package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// realFolder writes a package of a public catalog to a folder, with one text in it replaced, and
// returns the folder.
func realFolder(t *testing.T, pkg, old, new string) string {
	t.Helper()
	const catalogs = "../../../shared/catalogs"
	if _, err := os.Stat(catalogs); err != nil {
		t.Skipf("no real catalogs: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(catalogs, pkg, "catalog.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: got %v, %v", pkg, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s does not have %q", pkg, old)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(files[0])), bytes.Replace(text, []byte(old), []byte(new), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBrokenRealPackages checks that every command that reads a broken package reports the problem
// and its remedy, and does not crash.
func TestBrokenRealPackages(t *testing.T) {
	t.Parallel()
	long(t)
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "  - kubecost-operator.v0.0.%d\n", i)
	}
	const (
		jumpstarter = "jumpstarter-operator"
		tail        = "- name: jumpstarter-operator.v0.8.0\n"
		skips       = "- name: kubecost-operator.v2.8.2\n  skips:\n"
	)
	type answers struct{ validate, graph, filter string } // "" for success
	for name, tc := range map[string]struct {
		pkg, old, new string
		want          answers
	}{
		"tabs":              {jumpstarter, "\n  replaces:", "\n\treplaces:", answers{"catalog.yaml:9: invalid YAML: found a tab character that violates indentation; YAML is indented with spaces", "catalog.yaml:9: invalid YAML: found a tab character that violates indentation; YAML is indented with spaces", "catalog.yaml:9: invalid YAML: found a tab character that violates indentation; YAML is indented with spaces"}},
		"two heads":         {jumpstarter, "  replaces: jumpstarter-operator.v0.9.0-rc.2\n", "", answers{"catalog.yaml:6: package \"jumpstarter-operator\", channel \"alpha\" has 2 heads", "", "has 2 heads"}},
		"no head":           {jumpstarter, tail, tail + "  replaces: jumpstarter-operator.v0.9.0\n", answers{"channel \"alpha\" has no head", "", "has no head"}},
		"a cycle":           {jumpstarter, tail, tail + "  replaces: jumpstarter-operator.v0.8.1\n", answers{"entries replace each other in a cycle: jumpstarter-operator.v0.8.1 -> jumpstarter-operator.v0.8.1-rc.1 -> jumpstarter-operator.v0.8.0 -> jumpstarter-operator.v0.8.1 (channel-cycle)", "", "(channel-cycle)"}},
		"invalid skipRange": {jumpstarter, "'>=0.8.1 <0.9.0-rc.1'", "'<v0.9.0-rc.1'", answers{"skipRange \"<v0.9.0-rc.1\" is not a range", "", "(entry-skip-range)"}},
		"an image":          {jumpstarter, "jumpstarter-operator:0.9.0\n", "jumpstarter operator:0.9.0\n", answers{"(bundle-image)", "", "(bundle-image)"}},
		"10,000 skips":      {"kubecost-operator", skips, skips + many.String(), answers{}},
		"as it is":          {"gatekeeper-operator-product", "", "", answers{}},
		"a 100 MB object":   {jumpstarter, "", "{\"schema\": \"x\", \"y\": \"" + strings.Repeat("x", 100<<20) + "\"}\n---\n", answers{"catalog.yaml:1: the object is larger than 16 MiB", "catalog.yaml:1: the object is larger than 16 MiB", "catalog.yaml:1: the object is larger than 16 MiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := realFolder(t, tc.pkg, tc.old, tc.new)
			w := &fixture{t: t, dir: t.TempDir()}
			isc := w.config("isc.yaml", "  operators:\n  - catalog: dir://"+dir+"\n    full: true\n    packages: [{name: "+tc.pkg+"}]\n")
			for command, ask := range map[string]struct {
				args []string
				want string
			}{
				"validate": {[]string{"catalog", "validate", dir}, tc.want.validate},
				"graph":    {[]string{"graph", dir, tc.pkg, "-o", "text"}, tc.want.graph},
				"filter":   {[]string{"catalog", "filter", "-c", isc, "--output-dir", filepath.Join(w.dir, "out")}, tc.want.filter},
			} {
				o := w.gantry(ask.args...)
				said := o.stdout + o.stderr
				if (o.code == exitOK) != (ask.want == "") || !strings.Contains(said, ask.want) || strings.Contains(said, "goroutine ") {
					t.Errorf("%s ended with %d:\n%.1500s", command, o.code, said)
				}
			}
		})
	}
}
