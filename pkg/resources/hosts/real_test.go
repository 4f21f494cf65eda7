package hosts

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// TestRealReferences mirrors every image of the real catalogs next to the checkout, or of the sample in testdata.
func TestRealReferences(t *testing.T) {
	for name, tc := range map[string]struct {
		dir string
		min int
	}{
		"sample": {filepath.Join("..", "..", "..", "testdata", "sample", "catalogs"), 10},
		"real":   {filepath.Join("..", "..", "..", "..", "shared", "catalogs"), 1000},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(tc.dir); err != nil {
				t.Skipf("no catalogs: %v", err)
			}
			if name == "real" && testing.Short() {
				t.Skip("reads real data")
			}
			sources := references(t, tc.dir)
			if len(sources) < tc.min {
				t.Fatalf("only %d references found; is the format another?", len(sources))
			}
			for _, policy := range []string{"", "NeverContactSource"} {
				in := Input{Host: "mirror.local:5000"}
				for _, source := range sources {
					mirror := source
					mirror.Host, mirror.Path = "mirror.local:5000", "ocp/"+source.Path
					in.Images = append(in.Images, resources.Image{Source: source, Mirror: mirror, Kind: "operator"})
				}
				in.Images = append(in.Images, image(t, release))
				if _, notes := check(t, withMirrors(t, in, policy)); len(notes) > 0 {
					t.Errorf("notes %q", notes)
				}
			}
		})
	}
}

// references returns the images that the catalogs in a folder name.
func references(t *testing.T, dir string) []reference.Reference {
	t.Helper()
	seen := map[reference.Reference]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, after := range strings.Split(string(text), "image")[1:] {
			value := strings.TrimLeft(after[:min(len(after), 400)], `": `)
			if end := strings.IndexAny(value, "\"', \n"); end >= 0 {
				value = value[:end]
			}
			source, err := reference.Parse(value)
			if err == nil && !reference.IsShort(value) && source.Identifier() != "" {
				seen[source] = true
			}
		}
		return err
	})
	fail.On(t, err)
	var all []reference.Reference
	for source := range seen {
		all = append(all, source)
	}
	return all
}
