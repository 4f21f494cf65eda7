package imageset_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

func TestNotText(t *testing.T) {
	header := "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\n"
	for name, test := range map[string]struct{ text, want string }{
		"program": {"\x7fELF\x02\x01\n", "f:1: not YAML: control characters are not allowed; is it an ImageSetConfiguration? if so, save it as plain UTF-8 text"},
		"latin-1": {header + "# gr\xfc\xdfe\n", "f:3: not YAML: invalid leading UTF-8 octet; is it an ImageSetConfiguration? if so, save it as plain UTF-8 text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := imageset.Parse("f", []byte(test.text))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	header := "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n"
	for name, test := range map[string]struct{ text, want string }{
		"size":     {strings.Repeat("#", 5<<20), "larger than 4 MiB"},
		"problems": {header + "  additionalImages:\n" + strings.Repeat("  - x\n", 5000), "f:1005: more than 1000 problems"},
		"aliases": {
			header + "  operators:\n  - catalog: oci:///a\n    packages: &p\n" + strings.Repeat("    - {name: a}\n", 900) +
				strings.Repeat("  - {catalog: 'oci:///b', packages: *p}\n", 300), "more than 10000 warnings",
		},
		"merges": {header + mergeBomb(), "more than 500000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := imageset.Parse("f", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.500v\nwant %s", err, test.want)
			}
		})
	}
}

// mergeBomb is a mapping that merges another mapping ten times, which merges another ten times, and
// so on.
func mergeBomb() string {
	var b strings.Builder
	b.WriteString("  a: &a {name: x}\n")
	for c := 'b'; c < 'm'; c++ {
		fmt.Fprintf(&b, "  %c: &%c {<<: [%s*%c]}\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
	}
	b.WriteString("  operators: [*l]\n")
	return b.String()
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "imageset.yaml")
	fail.On(t, os.WriteFile(path, []byte(everything), 0o644))
	c, err := imageset.Load(path)
	fail.On(t, err)
	fail.Diff(t, path+":25", c.Mirror.Operators[1].Pos.String())
	if _, err := imageset.Load(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(advice.Hint(err), "check the path") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := imageset.Load(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("folder: %v", err)
	}
	large := filepath.Join(dir, "large")
	fail.On(t, os.WriteFile(large, make([]byte, 5<<20), 0o644))
	if _, err := imageset.Load(large); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("large file: %v", err)
	}
}
