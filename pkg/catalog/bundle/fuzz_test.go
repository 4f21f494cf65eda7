package bundle_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Any files are either an error, or rendered as an object that a catalog accepts, with the same
// name and version, and with the same bytes every time. The migrated form equals the rendered form.
func FuzzRead(f *testing.F) {
	for _, dir := range []string{"tidewater", "lantern"} {
		var texts [4][]byte
		for i, pattern := range []string{"metadata/annotations.*", "metadata/needs.yml", "manifests/*[vn].*", "manifests/crd.yaml"} {
			names, err := filepath.Glob(filepath.Join("testdata", dir, pattern))
			fail.On(f, err)
			for _, name := range names {
				if texts[i], err = os.ReadFile(name); err != nil {
					f.Fatal(err)
				}
			}
		}
		f.Add(texts[0], texts[1], texts[2], texts[3])
	}
	for name, file := range small() {
		if filepath.Dir(name) == "manifests" {
			f.Add([]byte("annotations: {operators.operatorframework.io.bundle.package.v1: é}"), []byte("properties: [{type: a, value: &x [*x]}]"), file.Data, []byte("kind: &a [*a,*a]"))
		}
	}
	f.Fuzz(func(t *testing.T, annotations, other, csv, manifest []byte) {
		fsys := files(map[string]string{
			"metadata/a":       string(annotations),
			"metadata/b":       string(other),
			"manifests/a.yaml": string(csv),
			"manifests/b.json": string(manifest),
		})
		b, err := bundle.Read(fsys)
		if err != nil {
			return
		}
		objects, err := b.Meta("quay.io/a/b:v1")
		fail.On(t, err)
		got := decoded(t, objects)
		if got.Name != b.Name || got.VersionErr != nil || got.Version.String() != b.Version || got.Release != b.Release {
			t.Fatalf("read %s %s-%s, rendered %s %s-%s, %v", b.Name, b.Version, b.Release, got.Name, got.Version, got.Release, got.VersionErr)
		}
		again, err := bundle.Encode(got)
		if err != nil || string(again.Raw) != string(objects.Raw) {
			t.Fatalf("encoded as %s, then as %s, %v", objects.Raw, again.Raw, err)
		}
		migrated, err := bundle.Migrate(objects)
		fail.On(t, err)
		for _, p := range decoded(t, migrated).Properties {
			if p.Type == "olm.bundle.object" {
				t.Fatalf("%s still has manifests", migrated.Raw)
			}
		}
	})
}
