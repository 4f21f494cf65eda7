package resources

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// TestRealReferences mirrors every image in the real catalogs next to the checkout, and pulls each
// of them.
func TestRealReferences(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data")
	}
	dir := filepath.Join("..", "..", "..", "shared", "catalogs")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no real catalogs: %v", err)
	}
	var images []Image
	seen := map[reference.Reference]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, after := range strings.Split(string(text), "image")[1:] {
			value := strings.TrimLeft(after[:min(len(after), 400)], `": `)
			if end := strings.IndexAny(value, "\"', \n"); end >= 0 {
				value = value[:end]
			}
			source, err := reference.Parse(value)
			if err != nil || reference.IsShort(value) || source.Identifier() == "" || seen[source] {
				continue
			}
			seen[source] = true
			mirror := source
			mirror.Host, mirror.Path = "mirror.local:5000", "ocp/"+source.Path
			images = append(images, Image{Source: source, Mirror: mirror, Kind: "operator"})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(images) < 1000 {
		t.Fatalf("only %d references found; is the format another?", len(images))
	}
	files, notes, err := Build(images, nil, Options{MirrorSourcePolicy: neverContactSource})
	if err != nil {
		t.Fatal(err)
	}
	if lost := checkPulls(t, images, files, notes); len(lost) > 0 {
		t.Errorf("%d pulls end nowhere: %q", len(lost), notes)
	}
	for _, f := range files {
		t.Logf("%d references: %s has %d bytes", len(images), f.Name, len(f.Text))
	}
}
