package source_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/source"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// disk is a disk of folders by path.
type disk map[string]fs.FS

func (d disk) Dir(path string) (fs.FS, error) {
	if fsys := d[path]; fsys != nil {
		return fsys, nil
	}
	return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
}

const objects = `{"schema":"olm.package","name":"a","defaultChannel":"s"}
{"schema":"olm.channel","package":"a","name":"s","entries":[{"name":"a.v1"}]}
{"schema":"olm.package","name":"b","defaultChannel":"s"}
`

const database = "SQLite format 3\x00 and then pages"

// A databases is a fake reader of databases: it passes on the objects if it receives the file, and
// then returns the error.
type databases struct{ err error }

func (d databases) StreamFile(ctx context.Context, fsys fs.FS, name string, each func(*catalog.Meta) error) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fs.Stat(fsys, name+"-journal"); err == nil {
		return errors.New("it has a journal")
	}
	return d.Stream(ctx, f, each)
}

func (d databases) Stream(_ context.Context, db io.Reader, each func(*catalog.Meta) error) error {
	data, err := io.ReadAll(db)
	if err != nil {
		return err
	}
	if string(data) != database {
		return fmt.Errorf("a database of %d bytes", len(data))
	}
	for lines := bufio.NewScanner(strings.NewReader(objects)); lines.Scan(); {
		var id struct{ Schema, Package, Name string }
		if err := json.Unmarshal(lines.Bytes(), &id); err != nil {
			return err
		}
		if err := each(&catalog.Meta{Schema: id.Schema, Package: id.Package, Name: id.Name, Raw: bytes.Clone(lines.Bytes())}); err != nil {
			return err
		}
	}
	return d.err
}

var forms = disk{
	"/fbc":    fstest.MapFS{"a/catalog.json": {Data: []byte(objects)}},
	"/file":   fstest.MapFS{"catalog.yaml": {Data: []byte(objects)}},
	"/db":     fstest.MapFS{"index.db": {Data: []byte(database)}},
	"/bundle": fstest.MapFS{"manifests/csv.yaml": {Data: []byte(csv)}, "metadata/annotations.yaml": {Data: []byte(annotations)}},
	"/empty":  fstest.MapFS{"x": {Mode: fs.ModeDir | 0o755}},
}

const csv = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v1.0.0}
spec: {version: 1.0.0, install: {strategy: deployment, spec: {deployments: []}}}
`

const annotations = `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: a
  operators.operatorframework.io.bundle.channels.v1: s
`

func TestForms(t *testing.T) {
	for _, tc := range []struct {
		path string
		kind source.Kind
		want []string // schema and name
	}{
		{"/fbc", source.FileBased, []string{"olm.package a", "olm.channel s", "olm.package b"}},
		{"/file", source.FileBased, []string{"olm.package a", "olm.channel s", "olm.package b"}},
		{"/db", source.SQLite, []string{"olm.package a", "olm.channel s", "olm.package b"}},
		{"/bundle", source.Bundle, []string{"olm.bundle a.v1.0.0"}},
	} {
		t.Run(tc.path, func(t *testing.T) {
			src, err := source.Open(t.Context(), source.From{Files: forms, Databases: databases{}}, "dir://"+tc.path)
			fail.On(t, err)
			fail.Diff(t, tc.kind, src.Kind)
			var got []string
			if err := src.Stream(t.Context(), func(m *catalog.Meta) error {
				got = append(got, m.Schema+" "+m.Name)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			fail.Diff(t, tc.want, got)
			c, err := src.Read(t.Context(), catalog.Options{Keep: func(name string) bool { return name == "a" }, Outline: true})
			fail.On(t, err)
			if tc.kind == source.Bundle {
				return
			}
			if len(c.Packages) != 1 || c.Packages[0].Name != "a" || len(c.Outlines) != 1 || len(c.Names) != 2 {
				t.Errorf("read %+v", c)
			}
		})
	}
}

// Warnings of a bundle are reported.
func TestWarnings(t *testing.T) {
	odd := disk{"/odd": fstest.MapFS{
		"manifests/csv.yaml":        {Data: []byte(strings.Replace(csv, "spec: {", "spec: {relatedImages: [{name: a, image: ''}], ", 1))},
		"metadata/annotations.yaml": {Data: []byte(annotations)},
	}}
	var warnings []string
	src, err := source.Open(t.Context(), source.From{Files: odd, Warn: func(text string) { warnings = append(warnings, text) }}, "dir:///odd")
	fail.On(t, err)
	fail.On(t, src.Stream(t.Context(), func(*catalog.Meta) error { return nil }))
	if len(warnings) != 1 || !strings.Contains(warnings[0], "manifests/csv.yaml") {
		t.Errorf("got warnings %q", warnings)
	}
}

func TestOpenErrors(t *testing.T) {
	for name, want := range map[string]string{
		"dir:///empty": "",
		"dir:///none":  "opening catalog dir:///none: /none: file does not exist",
		"dir:///db":    "opening catalog dir:///db: " + source.ErrDatabase.Error(),
	} {
		src, err := source.Open(t.Context(), source.From{Files: forms}, name)
		if want == "" {
			if err == nil {
				_, err = src.Read(t.Context(), catalog.Options{})
			}
			if err == nil {
				t.Errorf("%s was read", name)
			}
			continue
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// A folder with a database and its journals is an index, so that its reader sees the journals. With
// another file it is a file-based catalog, whose problem is reported.
func TestJournals(t *testing.T) {
	for name, want := range map[string]string{
		"index.db-journal": "it has a journal",
		"other.db-journal": "index.db:1: ",
	} {
		files := disk{"/db": fstest.MapFS{"index.db": {Data: []byte(database)}, name: {Data: []byte("x")}}}
		src, err := source.Open(t.Context(), source.From{Files: files, Databases: databases{}}, "dir:///db")
		fail.On(t, err)
		if _, err := src.Read(t.Context(), catalog.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// An error in the middle of a database ends the reading with that error.
func TestDatabaseErrors(t *testing.T) {
	broken := errors.New("page 7 is damaged")
	from := source.From{Files: forms, Databases: databases{broken}}
	src, err := source.Open(t.Context(), from, "dir:///db")
	fail.On(t, err)
	if c, err := src.Read(t.Context(), catalog.Options{}); !errors.Is(err, broken) {
		t.Errorf("read %+v, error %v", c, err)
	}
	stop := errors.New("enough")
	n := 0
	err = src.Stream(t.Context(), func(*catalog.Meta) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("after %d objects: %v", n, err)
	}
}
