package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestConfigFromMirror makes configurations from a mirror with and without its workspace, and from an
// archive. The one from a plan selects what the original selects.
func TestConfigFromMirror(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	isc, disk := w.path("imageset.yaml"), fileScheme+w.path("disk")
	w.must("mirror", "-c", isc, w.docker("/ocp"))
	w.must("mirror", "-c", isc, disk)
	original, err := imageset.Load(isc)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{w.docker("/ocp"), disk} {
		made := w.path("made.yaml")
		w.must("config", "from-mirror", from, "--to", made)
		got, err := imageset.Load(made)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(original.Mirror, got.Mirror, cmpopts.IgnoreTypes(imageset.Position{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(imageset.Blocked{}, "Pattern"),
			cmpopts.SortSlices(func(a, b imageset.Image) bool { return a.Name < b.Name })); diff != "" {
			t.Errorf("from %s: %s", from, diff)
		}
	}
	// The pinned configuration selects what the mirror has: with it, there is nothing to copy.
	w.must("config", "from-mirror", "--pinned", w.docker("/ocp"), "--to", w.path("pinned.yaml"))
	if o := runGantry(t, "", "config", "check", w.path("pinned.yaml")); o.code != exitOK {
		t.Error(o.stdout)
	}
	if o := w.must("mirror", "-c", w.path("pinned.yaml"), w.docker("/ocp"), "--dry-run"); !strings.Contains(o.stdout, "To copy  0 B ") {
		t.Errorf("the pinned configuration selects other content:\n%s", o.stdout)
	}

	// Without the workspace, the registry is searched.
	other := w.path("none")
	w.refuse(exitUsage, []string{acme, community, "--catalogs"}, "config", "from-mirror", w.docker("/ocp"), "--workspace", other)
	o := w.must("config", "from-mirror", w.docker("/ocp"), "--workspace", other,
		"--catalogs", acme+"=registry.example.com/"+acme+":v4.20", "--catalogs", community+"=registry.example.com/"+community+":v1")
	cfg, err := imageset.Parse("stdout", []byte(o.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Mirror.Operators; len(got) != 2 || len(got[0].Packages) == 0 || got[0].Packages[0].Channels[0].Range.Min == "" {
		t.Errorf("searching the mirror found %s", o.stdout)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a workspace was made")
	}
}

func TestConfigFromCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	objects, made := filepath.Join(dir, "cluster.json"), filepath.Join(dir, "imageset.yaml")
	text := `{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {"channel": "stable-4.18"}, "status": {"history": [{"state": "Completed", "version": "4.18.3"}]}}`
	if err := os.WriteFile(objects, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		code   int
		stdout string
		stderr []string
		args   []string
	}{
		{exitOK, "", nil, []string{"from-cluster", objects, "--to", made}},
		{exitOK, made + ": ok", nil, []string{"check", made}},
		{exitOK, `{"version":1,"configuration":{`, nil, []string{"from-cluster", objects, "-o", "json"}},
		{exitUsage, "", []string{"--catalogs", "NAME=REFERENCE"}, []string{"from-cluster", objects, "--catalogs", "x"}},
		{exitUsage, "", []string{"missing.json"}, []string{"from-cluster", filepath.Join(dir, "missing.json")}},
		{exitUsage, "", []string{"neither a mirror nor an archive", "docker://"}, []string{"from-mirror", "mirror.example.com"}},
	} {
		o := runGantry(t, "", append([]string{"config"}, tc.args...)...)
		if o.code != tc.code || !strings.Contains(o.stdout, tc.stdout) {
			t.Errorf("%v: %d\n%s%s", tc.args, o.code, o.stdout, o.stderr)
		}
		for _, words := range tc.stderr {
			if !strings.Contains(o.stderr, words) {
				t.Errorf("%v: no %q in\n%s", tc.args, words, o.stderr)
			}
		}
	}
}
