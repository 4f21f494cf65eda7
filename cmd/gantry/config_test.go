package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// TestConfigCheck checks the text and the exit statuses. Package config tests what is found.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	good := w.config("good.yaml", "  additionalImages: [{name: 'quay.io/org/name:v1'}]\n")
	bad := w.config("bad.yaml", "  aditionalImages: []\n")
	warned := w.config("warned.yaml", "  additionalImages: [{name: 'docker://quay.io/org/name:v1'}]\n")
	const warning = ":4: warning: mirror.additionalImages[0].name: "
	for args, want := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		warned:                            {exitOK, "\n" + warned + ": ok, with 1 warning\n", ""},
		good + " " + bad:                  {exitUsage, good + ": ok\n" + bad + `:4: mirror: unknown field "aditionalImages"; did you mean "additionalImages"?`, "gantry: 1 of 2 files are invalid\n"},
		"--strict " + good + " " + warned: {exitUsage, good + ": ok\n" + warned + warning, "gantry: 1 of 2 files have warnings; gantry config convert corrects most of them\n"},
		"-o json " + good:                 {exitOK, `{"version":1,"files":[{"file":"` + good + `","ok":true}]}`, ""},
	} {
		o := runGantry(t, "", append([]string{"config", "check"}, strings.Fields(args)...)...)
		if o.code != want.code || o.stderr != want.stderr || !strings.Contains(o.stdout, want.stdout) {
			t.Errorf("%s: %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
}

func TestConfigSchema(t *testing.T) {
	o := runGantry(t, "", "config", "schema")
	if diff := cmp.Diff(string(imageset.Schema()), o.stdout); diff != "" || o.code != exitOK {
		t.Errorf("%d: %s", o.code, diff)
	}
}

func TestConfigConvert(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	old := w.config("old.yaml", "  additionalImages:\n  - name: docker://quay.io/org/name:v1 # an image\n")
	want := "  additionalImages:\n  - name: quay.io/org/name:v1 # an image\n"
	o := runGantry(t, "", "config", "convert", old)
	if o.code != exitOK || !strings.HasSuffix(o.stdout, want) || !strings.Contains(o.stderr, "changed: "+old+":5: ") {
		t.Errorf("%d, %s\n%s", o.code, o.stdout, o.stderr)
	}
	o = runGantry(t, "", "config", "convert", "--output", "json", old)
	var result struct {
		Version       int
		Changed, Left []selection.ConfigProblem
		Text          string
	}
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || len(result.Changed) != 1 || result.Left == nil || !strings.HasSuffix(result.Text, want) {
		t.Errorf("%v: %s", err, o.stdout)
	}
	if o := runGantry(t, "", "config", "convert", old, "--to", old); o.code != exitOK || o.stdout != "" {
		t.Errorf("%d, %s%s", o.code, o.stdout, o.stderr)
	}
	if o := runGantry(t, "", "config", "check", "--strict", old); o.code != exitOK {
		t.Errorf("the converted file: %s", o.stdout)
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
