package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestConfigCheck checks the JSON, and the exit status of several files. Package config tests what is found, TestScripts the
// texts.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	good := w.config("good.yaml", "  additionalImages: [{name: 'quay.io/org/name:v1'}]\n")
	bad := w.config("bad.yaml", "  aditionalImages: []\n")
	if o := runGantry(t, "", "config", "check", "-o", "json", good); o.code != exitOK || o.stdout != `{"version":1,"files":[{"file":"`+good+`","ok":true}]}`+"\n" {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := runGantry(t, "", "config", "check", "-o", "sarif", good, bad); o.code != exitUsage || !strings.Contains(o.stdout, `"uri":"file://`+bad+`"},"region":{"startLine":4,"startColumn":3}`) {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := runGantry(t, "", "config", "check", good, bad); o.code != exitUsage || o.stderr != "gantry: 1 of 2 files are invalid; fix the lines that are listed\n" || !strings.HasPrefix(o.stdout, good+": ok\n"+bad+`:4:3: mirror: unknown field "aditionalImages"; did you mean "additionalImages"?`) {
		t.Errorf("%d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func TestConfigSchema(t *testing.T) {
	o := runGantry(t, "", "config", "schema")
	if diff := cmp.Diff(string(imageset.Schema()), o.stdout); diff != "" || o.code != exitOK {
		t.Errorf("%d: %s", o.code, diff)
	}
}

// TestConfigConvert checks the JSON. TestScripts has the text.
func TestConfigConvert(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	old := w.config("old.yaml", "  additionalImages:\n  - name: docker://quay.io/org/name:v1 # an image\n")
	o := runGantry(t, "", "config", "convert", "--output", "json", old)
	result := decoded[selection.ConvertedConfig](t, o.stdout)
	if len(result.Changed) != 1 || result.Left == nil || !strings.HasSuffix(result.Text, "  additionalImages:\n  - name: quay.io/org/name:v1 # an image\n") {
		t.Errorf("%s", o.stdout)
	}
	if o := runGantry(t, "", "config", "convert", w.path("absent.yaml")); o.code != exitUsage || !strings.Contains(o.stderr, "no such file") {
		t.Errorf("%d, %s", o.code, o.stderr)
	}
}

// TestConfigDraft checks the flags. Package config tests the drafts.
func TestConfigDraft(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	objects, made := w.write("cluster.json", clusterVersion("a", "stable-4.18", "", `{"state":"Completed","version":"4.18.3"}`)), w.path("imageset.yaml")
	for _, tc := range []struct {
		code           int
		stdout, stderr string
		args           []string
	}{
		{exitOK, "", "", []string{"from-cluster", objects, "--to", made}},
		{exitOK, made + ": ok", "", []string{"check", made}},
		{exitOK, `{"version":1,"configuration":{`, "", []string{"from-cluster", objects, "-o", "json"}},
		{exitUsage, "", "NAME=REFERENCE", []string{"from-cluster", objects, "--catalogs", "x"}},
		{exitUsage, "", "missing.json", []string{"from-cluster", w.path("missing.json")}},
		{exitUsage, "", "neither a mirror nor an archive", []string{"from-mirror", "mirror.example.com"}},
	} {
		o := runGantry(t, "", append([]string{"config"}, tc.args...)...)
		if o.code != tc.code || !strings.Contains(o.stdout, tc.stdout) || !strings.Contains(o.stderr, tc.stderr) {
			t.Errorf("%v: %d\n%s%s", tc.args, o.code, o.stdout, o.stderr)
		}
	}
}
