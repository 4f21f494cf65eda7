package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []Setting
		err  string
	}{
		"empty":           {"", nil, ""},
		"only comments":   {"# nothing\n", nil, ""},
		"values":          {"retry-times: 3\n# rate\nlimit-rate: 50MiB\nsrc-tls-verify: false\n", []Setting{{"retry-times", []string{"3"}, 1}, {"limit-rate", []string{"50MiB"}, 3}, {"src-tls-verify", []string{"false"}, 4}}, ""},
		"a list":          {"window: [\"20:00-06:00\", sat-sun]\n", []Setting{{"window", []string{"20:00-06:00", "sat-sun"}, 1}}, ""},
		"an empty text":   {"limits: ''\n", []Setting{{"limits", []string{""}, 1}}, ""},
		"twice":           {"limits: a\nlimits: b\n", nil, "f.yaml:2: limits is set in line 1, too"},
		"no value":        {"limits:\n", nil, "f.yaml:1: limits: expected a value or a list of values"},
		"no values":       {"window: []\n", nil, "f.yaml:1: window: expected a value or a list of values"},
		"nested":          {"a: 1\nregistries:\n  retry-times: 3\n", nil, "f.yaml:3: registries: expected a value or a list of values"},
		"a list of lists": {"window: [[a]]\n", nil, "f.yaml:1: window: expected a value or a list of values"},
		"no mapping":      {"- a\n", nil, "f.yaml:1: expected a mapping of names of flags to values, such as limit-rate: 50MiB"},
		"two documents":   {"a: 1\n---\nb: 2\n", nil, "f.yaml:2: a second document begins here: write one"},
		"no YAML":         {"a: 1\nb: [\n", nil, "f.yaml:2: invalid YAML: did not find expected node content"},
	} {
		got, err := Parse("f.yaml", []byte(c.text))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(c.want, got); diff != "" || text != c.err {
			t.Errorf("%s: error %q, want %q\n%s", name, text, c.err, diff)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	fail.On(t, os.WriteFile(large, []byte(strings.Repeat("#\n", maxFile)), 0o600))
	for _, path := range []string{large, dir, filepath.Join(dir, "absent.yaml")} {
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
