package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/plan/selection"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	good := w.config("good.yaml", "  additionalImages: [{name: 'quay.io/org/name:v1'}]\n")
	bad := w.config("bad.yaml", "  aditionalImages: []\n  operators:\n  - catalog: quay.io/a/b:v1\n    packages:\n    - name: x\n      minVersion: v1.2\n")
	warned := w.config("warned.yaml", "  additionalImages: [{name: 'docker://quay.io/org/name:v1'}]\n")
	absent := w.path("absent.yaml")
	for _, tc := range []struct {
		args   []string
		code   int
		stdout []string
		stderr string
	}{
		{[]string{good}, exitOK, []string{good + ": ok\n"}, ""},
		{
			[]string{good, bad, absent},
			exitUsage,
			[]string{good + ": ok\n", bad + `:4: mirror: unknown field "aditionalImages"; did you mean "additionalImages"?`, bad + ":9: warning: ", `is read as "1.2.0"`, absent + ": reading the configuration"},
			"gantry: 2 of 3 files are invalid\n",
		},
		{[]string{warned}, exitOK, []string{warned + ":4: warning: mirror.additionalImages[0].name: ", "\n" + warned + ": ok, with 1 warning\n"}, ""},
		{[]string{"--strict", good}, exitOK, []string{good + ": ok\n"}, ""},
		{[]string{"--strict", good, warned}, exitUsage, []string{good + ": ok\n", warned + ":4: warning: "}, "gantry: 1 of 2 files have warnings; gantry config convert corrects most of them\n"},
		{[]string{"--strict", bad, warned}, exitUsage, []string{bad + ":4: mirror: unknown field"}, "gantry: 2 of 2 files are invalid or have warnings\n"},
	} {
		o := runGantry(t, "", append([]string{"config", "check"}, tc.args...)...)
		if o.code != tc.code || o.stderr != tc.stderr {
			t.Errorf("%v: %d, %q", tc.args, o.code, o.stderr)
		}
		for _, words := range tc.stdout {
			if !strings.Contains(o.stdout, words) {
				t.Errorf("%v: no %q in\n%s", tc.args, words, o.stdout)
			}
		}
	}
	o := runGantry(t, "", "config", "check", "--output", "json", good, bad, warned)
	var result config.Checked
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Version != 1 || len(result.Files) != 3 {
		t.Fatalf("%v: %s", err, o.stdout)
	}
	if f := result.Files; !f[0].OK || f[1].OK || len(f[1].Problems) != 1 || f[1].Problems[0].Line != 4 || f[1].Problems[0].Hint == "" || !f[2].OK || len(f[2].Warnings) != 1 || f[2].Warnings[0].Line != 4 {
		t.Errorf("%+v", f)
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
