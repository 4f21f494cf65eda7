package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/sqlite"
)

func TestRefusesFiles(t *testing.T) {
	whole, err := os.ReadFile(lantern(t).close())
	fail.On(t, err)
	changed := func(change func([]byte) []byte) []byte { return change(bytes.Clone(whole)) }
	page := int(binary.BigEndian.Uint16(whole[16:]))
	for name, tc := range map[string]struct {
		text   []byte
		beside map[string]string
		want   string
	}{
		"empty":                  {nil, nil, "the file is empty"},
		"another file":           {[]byte("schema: olm.package\n"), nil, "the file is not an SQLite database"},
		"the beginning":          {whole[:50], nil, "the database is truncated: it has 50 bytes"},
		"cut off":                {whole[:len(whole)-page], nil, "the database is truncated: it has"},
		"WAL mode":               {changed(func(b []byte) []byte { b[18], b[19] = 2, 2; return b }), nil, "the database is in WAL mode"},
		"a journal":              {whole, map[string]string{"-journal": "x"}, "in?d%ex #1.db-journal exists; a program is writing"},
		"a WAL":                  {whole, map[string]string{"-wal": "x"}, "-wal exists; the database is not in WAL mode"},
		"empty journals":         {whole, map[string]string{"-wal": "", "-journal": ""}, ""},
		"a persistent journal":   {whole, map[string]string{"-journal": "\x00\x00\x00"}, ""},
		"a file of another name": {whole, map[string]string{"-journal.old": "x"}, ""},
		"a page of zeros": {
			changed(func(b []byte) []byte { clear(b[3*page : 4*page]); return b }), nil, "the database is damaged; download it again",
		},
		"a page of nonsense": {
			changed(func(b []byte) []byte { copy(b[2*page:3*page], bytes.Repeat([]byte{0x5a}, page)); return b }), nil, "the database is damaged; download it again",
		},
		"a schema of nonsense": {
			changed(func(b []byte) []byte { copy(b[headerLength:page], bytes.Repeat([]byte{0x0d}, page)); return b }), nil, "the database is damaged; download it again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in?d%ex #1.db")
			fail.On(t, os.WriteFile(path, tc.text, 0o600))
			for suffix, text := range tc.beside {
				fail.On(t, os.WriteFile(path+suffix, []byte(text), 0o600))
			}
			refused(t, path, tc.want)
			if tc.beside == nil {
				err := sqlite.Reader{}.Stream(t.Context(), bytes.NewReader(tc.text), func(*catalog.Meta) error { return nil })
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("streamed: got %v, want %s", err, tc.want)
				}
			}
		})
	}
}

const headerLength = 100

// refused reads a database and expects the error, "" for none.
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
	index := lantern(t).close()
	fail.On(t, os.Mkdir(index+"-journal", 0o700))
	refused(t, index, "index.db-journal exists")
	refused(t, filepath.Join(dir, "absent.db"), "no such file")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here")
	}
	refused(t, pipe, "is not a regular file")
}

// A transaction that has changed the file but is not committed is not read, whether it began before
// or while the file was read.
func TestUncommitted(t *testing.T) {
	d := lantern(t)
	path := d.close()
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(OFF)&_pragma=cache_size(1)")
	fail.On(t, err)
	defer db.Close()
	write := func() *sql.Tx {
		tx, err := db.Begin()
		fail.On(t, err)
		for range 50 { // more than the cache, so that the file has it before the commit
			_, err = tx.Exec("INSERT INTO properties (type, value, operatorbundle_name) VALUES ('mine', json_quote(hex(zeroblob(2000))), 'lantern.v1.3.0')")
			fail.On(t, err)
		}
		return tx
	}

	tx := write()
	refused(t, path, "index.db-journal exists; a program is writing to the database")
	fail.On(t, tx.Rollback())
	refused(t, path, "")

	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
		// Times of files have a resolution of milliseconds.
		fail.On(t, os.Chtimes(path, time.Time{}, time.Unix(1, 0)))
		begun := false
		fsys := onRead{os.DirFS(filepath.Dir(path)), func() {
			if begun {
				return
			}
			begun = true
			fail.On(t, end(write()))
		}}
		err = sqlite.Reader{}.StreamFile(t.Context(), fsys, filepath.Base(path), func(*catalog.Meta) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "the database was changed while it was read; run again") {
			t.Errorf("got %v", err)
		}
	}
}

// onRead calls a function before the whole of a file is read.
type onRead struct {
	fs.FS
	before func()
}

func (o onRead) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	return &readFile{f, o.before}, err
}

type readFile struct {
	fs.File
	before func()
}

func (f *readFile) Read(b []byte) (int, error) {
	if len(b) > 1000 { // not the header
		f.before()
	}
	return f.File.Read(b)
}

func TestRefusesContent(t *testing.T) {
	for name, tc := range map[string]struct {
		statements []string
		want       string
	}{
		"no tables":       {[]string{"PRAGMA user_version = 1"}, "the database is empty: it has no tables"},
		"something else":  {[]string{"CREATE TABLE places (url TEXT)"}, "the database is not an operator index: it has no table package"},
		"no packages":     {[]string{schema}, "the index has no packages"},
		"no entries":      {[]string{schema, "DROP TABLE channel_entry"}, "the database has no table channel_entry: its schema has version 13"},
		"an old schema":   {[]string{schema, "DROP TABLE properties", "UPDATE schema_migrations SET version = 4"}, "the database has no table api_provider: its schema has version 4, but version 6 or higher is required; convert it with opm v1.73.0 or older"},
		"no migrations":   {[]string{schema, "DROP TABLE schema_migrations", "ALTER TABLE channel DROP COLUMN head_operatorbundle_name"}, "has no column head_operatorbundle_name in table channel: its schema has an unknown version"},
		"a view":          {[]string{schema, "DROP TABLE package", "CREATE VIEW package AS SELECT 'a' AS name, 'b' AS default_channel"}, "it has no table package"},
		"a virtual table": {[]string{schema, "CREATE VIRTUAL TABLE words USING fts5(x)"}, `the database is not an operator index: table "words" is virtual`},
		"a computed column": {
			[]string{schema, "DROP TABLE package", "CREATE TABLE package (name TEXT, default_channel TEXT AS (hex(zeroblob(1000000))))"},
			"has no column default_channel in table package",
		},
		"an entry of no channel": {
			[]string{schema, "INSERT INTO package VALUES ('a', 'x')", "INSERT INTO channel_entry VALUES (1, 'y', 'a', 'a.v1', NULL, 0)"},
			`entries of channel "y" of package "a" without such a channel or package`,
		},
		"a name that is not UTF-8": {
			[]string{schema, "INSERT INTO package VALUES (CAST(x'ff' AS TEXT), 'x')"}, `the name "\xff" is not UTF-8`,
		},
		"a property that is not JSON": {
			[]string{one, "INSERT INTO properties (type, value, operatorbundle_name) VALUES ('x', '{', 'a.v1')"},
			"package a: bundle a.v1: reading property x: ",
		},
		"an invalid GVK": {
			[]string{one, "INSERT INTO properties (type, value, operatorbundle_name) VALUES ('olm.gvk', '[]', 'a.v1')"},
			"package a: bundle a.v1: reading property olm.gvk",
		},
		"an invalid dependency": {
			[]string{one, "INSERT INTO dependencies (type, value, operatorbundle_name) VALUES ('olm.package', '[]', 'a.v1')"},
			"package a: bundle a.v1: reading a dependency of type olm.package: the value must be an object, not a list",
		},
		"manifests that are not JSON": {
			[]string{one, `UPDATE operatorbundle SET bundle = '{"kind":"Service"}{'`}, "package a: bundle a.v1: reading the manifests",
		},
		"manifests without a ClusterServiceVersion": {
			[]string{one, `UPDATE operatorbundle SET bundle = '{"kind":"Service"}'`}, "package a: bundle a.v1: the manifests contain no ClusterServiceVersion",
		},
		"a ClusterServiceVersion of another shape": {
			[]string{one, `UPDATE operatorbundle SET bundle = '{"kind":"ClusterServiceVersion","spec":[]}'`}, "package a: bundle a.v1: reading the ClusterServiceVersion",
		},
		"large manifests": {
			[]string{one, "UPDATE operatorbundle SET bundle = zeroblob(20000000)"}, "package a: bundle a.v1: the manifests have 20000000 bytes, more than the limit of 11534336",
		},
		"a large property": {
			[]string{one, "INSERT INTO properties (type, value, operatorbundle_name) VALUES ('x', zeroblob(20000000), 'a.v1')"},
			"a value in the database exceeds the limit of 11534336 bytes",
		},
		"many large properties": {
			[]string{one, `INSERT INTO properties (type, value, operatorbundle_name)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2) SELECT 'x' || i, zeroblob(10000000), 'a.v1' FROM n`},
			"package a: bundle a.v1: the properties exceed the limit of 16 MiB",
		},
		"many entries": {
			[]string{one, `INSERT INTO channel_entry (channel_name, package_name, operatorbundle_name)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2) SELECT 'x', 'a', CAST(zeroblob(10000000) AS TEXT) FROM n`},
			"package a: the channel entries exceed the limit of 16 MiB",
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
