package folder_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
)

func read(t *testing.T, fsys fs.FS) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), fsys, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err := folder.Write(t.Context(), at, sample(t, two), folder.JSON); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"deep/catalog/catalog.json":   `{"schema":"x","name":"global"}` + "\n",
		"deep/catalog/a/catalog.json": `{"schema":"olm.package","name":"a","defaultChannel":"stable"}` + "\n",
		"deep/catalog/b/catalog.json": `{"schema":"olm.package","name":"b","defaultChannel":"yes"}` + "\n",
	}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	if err := folder.Write(t.Context(), at, sample(t, "schema: olm.package\nname: b\ndefaultChannel: 'yes'\n"), folder.YAML); err != nil {
		t.Fatal(err)
	}
	want = map[string]string{"deep/catalog/b/catalog.yaml": "---\nschema: olm.package\nname: b\ndefaultChannel: \"yes\"\n"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("the second catalog does not stand alone: %s", diff)
	}
	if diff := cmp.Diff("b", read(t, os.DirFS(at)).Packages[0].Name); diff != "" {
		t.Error(diff)
	}
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
			if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			if err := folder.Write(t.Context(), dir, sample(t, two), folder.JSON); !errors.Is(err, folder.ErrForeign) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "catalog")
	if err := folder.Write(t.Context(), at, sample(t, "schema: olm.package\nname: old\ndefaultChannel: a\n"), folder.JSON); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := folder.Write(ctx, at, sample(t, two), folder.JSON); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}
