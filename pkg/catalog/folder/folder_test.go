package folder_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func read(t *testing.T, fsys fs.FS) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), fsys, catalog.Options{})
	fail.On(t, err)
	return c
}

func sample(t *testing.T, text string) *catalog.Catalog {
	return read(t, fstest.MapFS{"all.yaml": {Data: []byte(text)}})
}

// tree returns every file below dir with its text.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	fail.On(t, err)
	return all
}

const two = `---
schema: olm.package
name: a
defaultChannel: stable
---
schema: olm.package
name: b
defaultChannel: "yes"
---
schema: x
name: global
`

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "deep", "catalog")
	fail.On(t, folder.Write(t.Context(), at, sample(t, two), folder.JSON))
	want := map[string]string{
		"deep/catalog/catalog.json":   `{"schema":"x","name":"global"}` + "\n",
		"deep/catalog/a/catalog.json": `{"schema":"olm.package","name":"a","defaultChannel":"stable"}` + "\n",
		"deep/catalog/b/catalog.json": `{"schema":"olm.package","name":"b","defaultChannel":"yes"}` + "\n",
	}
	fail.Diff(t, want, tree(t, dir))
	fail.On(t, folder.Write(t.Context(), at, sample(t, "schema: olm.package\nname: b\ndefaultChannel: 'yes'\n"), folder.YAML))
	want = map[string]string{"deep/catalog/b/catalog.yaml": "---\nschema: olm.package\nname: b\ndefaultChannel: \"yes\"\n"}
	fail.Diff(t, want, tree(t, dir))
	fail.Diff(t, "b", read(t, os.DirFS(at)).Packages[0].Name)
}

func TestWriteLeavesOthersAlone(t *testing.T) {
	for name, file := range map[string]string{
		"beside":          "notes.txt",
		"in a package":    "a/Dockerfile",
		"deeper":          "a/b/catalog.json",
		"another catalog": "a/bundles.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mine := filepath.Join(dir, filepath.FromSlash(file))
			fail.On(t, os.MkdirAll(filepath.Dir(mine), 0o755))
			fail.On(t, os.WriteFile(mine, []byte("mine"), 0o600))
			before := tree(t, dir)
			fail.Diff(t, folder.ErrForeign, folder.Write(t.Context(), dir, sample(t, two), folder.JSON), cmpopts.EquateErrors())
			fail.Diff(t, before, tree(t, dir))
		})
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "catalog")
	fail.On(t, folder.Write(t.Context(), at, sample(t, "schema: olm.package\nname: old\ndefaultChannel: a\n"), folder.JSON))
	before := tree(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fail.Diff(t, context.Canceled, folder.Write(ctx, at, sample(t, two), folder.JSON), cmpopts.EquateErrors())
	fail.Diff(t, before, tree(t, dir))
}
