package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir()}
	good := w.config("good.yaml", "  additionalImages: [{name: 'quay.io/org/name:v1'}]\n")
	bad := w.config("bad.yaml", "  aditionalImages: []\n  operators:\n  - catalog: quay.io/a/b:v1\n    packages:\n    - name: x\n      minVersion: v1.2\n")
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
			[]string{good + ": ok\n", bad + `:4: mirror: unknown field "aditionalImages"; did you mean "additionalImages"?`, bad + ":9: ", `write "1.2.0"`, absent + ": reading the configuration"},
			"gantry: not valid: 2 of 3 files\n",
		},
	} {
		o := gantry(t, "", append([]string{"config", "check"}, tc.args...)...)
		if o.code != tc.code || o.stderr != tc.stderr {
			t.Errorf("%v: %d, %q", tc.args, o.code, o.stderr)
		}
		for _, words := range tc.stdout {
			if !strings.Contains(o.stdout, words) {
				t.Errorf("%v: no %q in\n%s", tc.args, words, o.stdout)
			}
		}
	}
	o := gantry(t, "", "config", "check", "--output", "json", good, bad)
	var result struct {
		Version int
		Files   []checkedFile
	}
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || result.Version != 1 || len(result.Files) != 2 {
		t.Fatalf("%v: %s", err, o.stdout)
	}
	if f := result.Files; !f[0].OK || f[1].OK || len(f[1].Problems) != 2 || f[1].Problems[0].Line != 4 || f[1].Problems[0].Hint == "" {
		t.Errorf("%+v", f)
	}
}

func TestConfigSchema(t *testing.T) {
	o := gantry(t, "", "config", "schema")
	if diff := cmp.Diff(string(imageset.Schema()), o.stdout); diff != "" || o.code != exitOK {
		t.Errorf("%d: %s", o.code, diff)
	}
}
