package sqlite_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/sqlite"
)

func TestRefusesFiles(t *testing.T) {
	whole, err := os.ReadFile(lantern(t).close())
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func([]byte) []byte) []byte { return change(bytes.Clone(whole)) }
	page := int(binary.BigEndian.Uint16(whole[16:]))
	for name, tc := range map[string]struct {
		text   []byte
		beside map[string]string
		want   string
	}{
		"empty":          {nil, nil, "the file is empty"},
		"another file":   {[]byte("schema: olm.package\n"), nil, "the file is not an SQLite database: it begins otherwise"},
		"the beginning":  {whole[:50], nil, "the database is cut off: it has 50 bytes"},
		"cut off":        {whole[:len(whole)-page], nil, "the database is cut off: it has"},
		"WAL mode":       {changed(func(b []byte) []byte { b[18], b[19] = 2, 2; return b }), nil, "the database is in WAL mode"},
		"a journal":      {whole, map[string]string{"-journal": "x"}, "-journal stands beside the database"},
		"a WAL":          {whole, map[string]string{"-wal": "x"}, "-wal stands beside the database"},
		"empty journals": {whole, map[string]string{"-wal": "", "-journal": ""}, ""},
		"a page of zeros": {
			changed(func(b []byte) []byte { clear(b[3*page : 4*page]); return b }), nil, "the database is damaged, get it again",
		},
		"a page of nonsense": {
			changed(func(b []byte) []byte { copy(b[2*page:3*page], bytes.Repeat([]byte{0x5a}, page)); return b }), nil, "the database is damaged, get it again",
		},
		"a schema of nonsense": {
			changed(func(b []byte) []byte { copy(b[headerLength:page], bytes.Repeat([]byte{0x0d}, page)); return b }), nil, "the database is damaged, get it again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in?d%ex #1.db")
			if err := os.WriteFile(path, tc.text, 0o600); err != nil {
				t.Fatal(err)
			}
			for suffix, text := range tc.beside {
				if err := os.WriteFile(path+suffix, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			refused(t, path, tc.want)
			if tc.beside == nil {
				err := sqlite.Stream(t.Context(), bytes.NewReader(tc.text), func(*catalog.Meta) error { return nil })
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("streamed: got %v, want %s", err, tc.want)
				}
			}
		})
	}
}

const headerLength = 100

// refused reads a database that is refused with a message, "" for none.
func refused(t *testing.T, path, want string) {
	t.Helper()
	_, err := objects(t, path)
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v", err)
	case want != "" && (err == nil || !strings.HasPrefix(err.Error(), "reading the index database: ") || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestRefusesPipesAndFolders(t *testing.T) {
	dir := t.TempDir()
	refused(t, dir, "is not a regular file")
	refused(t, filepath.Join(dir, "absent.db"), "no such file")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here")
	}
	refused(t, pipe, "is not a regular file")
}

func TestRefusesContent(t *testing.T) {
	for name, tc := range map[string]struct {
		statements []string
		want       string
	}{
		"no tables":       {[]string{"PRAGMA user_version = 1"}, "the database is empty: it has no tables"},
		"something else":  {[]string{"CREATE TABLE places (url TEXT)"}, "the database is not an operator index: it has no table package"},
		"no packages":     {[]string{schema}, "the index has no packages"},
		"no entries":      {[]string{schema, "DROP TABLE channel_entry"}, "the database has no table channel_entry: its schema is of version 13"},
		"an old schema":   {[]string{schema, "DROP TABLE properties", "UPDATE schema_migrations SET version = 4"}, "the database has no table api_provider: its schema is of version 4, and those from version 6 on can be read. opm v1.73.0 and older read it, too"},
		"no migrations":   {[]string{schema, "DROP TABLE schema_migrations", "ALTER TABLE channel DROP COLUMN head_operatorbundle_name"}, "has no column head_operatorbundle_name in table channel: its schema is of an unknown version"},
		"a view":          {[]string{schema, "DROP TABLE package", "CREATE VIEW package AS SELECT 'a' AS name, 'b' AS default_channel"}, "it has no table package"},
		"a virtual table": {[]string{schema, "CREATE VIRTUAL TABLE words USING fts5(x)"}, `the database has a virtual table "words", which no index has`},
		"a computed column": {
			[]string{schema, "DROP TABLE package", "CREATE TABLE package (name TEXT, default_channel TEXT AS (hex(zeroblob(1000000))))"},
			"has no column default_channel in table package",
		},
		"an entry of no channel": {
			[]string{schema, "INSERT INTO package VALUES ('a', 'x')", "INSERT INTO channel_entry VALUES (1, 'y', 'a', 'a.v1', NULL, 0)"},
			`it has entries of channel "y" of package "a", and no such channel or package`,
		},
		"a name that is no text": {
			[]string{schema, "INSERT INTO package VALUES (CAST(x'ff' AS TEXT), 'x')"}, `the name "\xff" is not UTF-8`,
		},
		"a property that is not JSON": {
			[]string{one, "INSERT INTO properties (type, value, operatorbundle_name) VALUES ('x', '{', 'a.v1')"},
			"package a: bundle a.v1: reading property x: ",
		},
		"a GVK that is none": {
			[]string{one, "INSERT INTO properties (type, value, operatorbundle_name) VALUES ('olm.gvk', '[]', 'a.v1')"},
			"package a: bundle a.v1: reading property olm.gvk",
		},
		"a dependency that is none": {
			[]string{one, "INSERT INTO dependencies (type, value, operatorbundle_name) VALUES ('olm.package', '[]', 'a.v1')"},
			"package a: bundle a.v1: reading a dependency of type olm.package: it must be an object, and there is a list",
		},
		"manifests that are not JSON": {
			[]string{one, `UPDATE operatorbundle SET bundle = '{"kind":"Service"}{'`}, "package a: bundle a.v1: reading its manifests",
		},
		"manifests without a ClusterServiceVersion": {
			[]string{one, `UPDATE operatorbundle SET bundle = '{"kind":"Service"}'`}, "package a: bundle a.v1: there is no ClusterServiceVersion among its manifests",
		},
		"a ClusterServiceVersion of another shape": {
			[]string{one, `UPDATE operatorbundle SET bundle = '{"kind":"ClusterServiceVersion","spec":[]}'`}, "package a: bundle a.v1: reading its ClusterServiceVersion",
		},
		"large manifests": {
			[]string{one, "UPDATE operatorbundle SET bundle = zeroblob(20000000)"}, "package a: bundle a.v1: its manifests have 20000000 bytes, and 11534336 are allowed",
		},
		"a large property": {
			[]string{one, "INSERT INTO properties (type, value, operatorbundle_name) VALUES ('x', zeroblob(20000000), 'a.v1')"},
			"something in the database is larger than the 11534336 bytes that are allowed",
		},
		"many large properties": {
			[]string{one, `INSERT INTO properties (type, value, operatorbundle_name)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2) SELECT 'x' || i, zeroblob(10000000), 'a.v1' FROM n`},
			"package a: bundle a.v1: its properties have too many bytes to be read",
		},
		"many entries": {
			[]string{one, `INSERT INTO channel_entry (channel_name, package_name, operatorbundle_name)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2) SELECT 'x', 'a', CAST(zeroblob(10000000) AS TEXT) FROM n`},
			"package a: its channels have too many entries to be read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, create(t, tc.statements...).close(), tc.want)
		})
	}
}

// one is an index with one bundle.
const one = schema + `
INSERT INTO package VALUES ('a', 'x');
INSERT INTO channel VALUES ('x', 'a', 'a.v1');
INSERT INTO channel_entry VALUES (1, 'x', 'a', 'a.v1', NULL, 0);
INSERT INTO operatorbundle (name, version, bundlepath) VALUES ('a.v1', '1.0.0', 'quay.io/a:v1');
`
