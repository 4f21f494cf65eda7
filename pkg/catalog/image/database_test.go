package image

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestDatabase(t *testing.T) {
	db := header{"database/index.db", "SQLite"}
	tests := []struct {
		name   string
		label  string
		layers [][]header
		want   string
		err    string
	}{
		{"one layer", "/database/index.db", [][]header{base, {db}}, "SQLite", ""},
		{"at the root", "bundles.db", [][]header{base, {{"bundles.db", "SQLite"}, {"x", "-> /nowhere"}}}, "SQLite", ""},
		{"replaced", "database/index.db", [][]header{{{"database/index.db", "old"}}, {db}, base}, "SQLite", ""},
		{"removed and there again", "database/index.db", [][]header{{{"database/index.db", "old"}}, {{".wh.database", ""}}, {db}}, "SQLite", ""},
		{"symlink", "database/index.db", [][]header{{{"database/bundles.db", "SQLite"}}, {{"database/index.db", "-> bundles.db"}}}, "SQLite", ""},
		{"hard link", "database/index.db", [][]header{{{"database/bundles.db", "SQLite"}, {"database/index.db", "=> database/bundles.db"}}}, "SQLite", ""},
		{"removed", "database/index.db", [][]header{{db}, {{"database/.wh.index.db", ""}}}, "", "there is no file /database/index.db"},
		{"none", "database/index.db", [][]header{base}, "", "there is no file /database/index.db"},
		{"a directory", "database", [][]header{{db}, {{"database/", ""}}}, "", "there is no file /database"},
		{"twice", "database/index.db", [][]header{{db, db}}, "", "twice"},
		{"link to nowhere", "database/index.db", [][]header{{{"database/index.db", "-> x"}}}, "", "does not exist"},
		{"link out", "database/index.db", [][]header{{{"etc/x", "SQLite"}, {"database/index.db", "-> ../etc/x"}}}, "SQLite", ""},
		{"hard link out", "database/index.db", [][]header{{{"etc/x", "SQLite"}, {"database/index.db", "=> etc/x"}}}, "SQLite", ""},
		{"below a link", "database/index.db", [][]header{{{"srv/index.db", "SQLite"}}, {{"database", "-> srv"}}}, "SQLite", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMemory()
			img, err := Open(t.Context(), m, "", m.putImage(t, source{
				labels: map[string]string{databaseLabel: test.label}, layers: test.layers,
			}.image(t)))
			fail.On(t, err)
			r, err := img.Database(t.Context())
			fail.On(t, err)
			data, err := io.ReadAll(iotest.OneByteReader(r))
			fail.On(t, r.Close())
			switch {
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v, want %q", err, test.err)
			case test.err == "" && (err != nil || string(data) != test.want):
				t.Errorf("%q and error %v, want %q", data, err, test.want)
			}
		})
	}
}

func TestDatabaseLabels(t *testing.T) {
	for label, want := range map[string]string{
		"/":          "is the root directory",
		"/../x":      "points upwards",
		"/x\x00/../": "points upwards",
	} {
		m := newMemory()
		_, err := Open(t.Context(), m, "", m.putImage(t, source{labels: map[string]string{databaseLabel: label}, layers: [][]header{base}}.image(t)))
		says(t, err, want)
	}
}

// TestDatabaseClosed closes a database before its end.
func TestDatabaseClosed(t *testing.T) {
	m := newMemory()
	img, err := Open(t.Context(), m, "", m.putImage(t, source{
		labels: map[string]string{databaseLabel: "index.db"}, layers: [][]header{{{"index.db", strings.Repeat("x", 1<<20)}}},
	}.image(t)))
	fail.On(t, err)
	r, err := img.Database(t.Context())
	fail.On(t, err)
	_, err = io.ReadFull(r, make([]byte, 10))
	fail.On(t, err)
	fail.On(t, r.Close())
	if _, err := r.Read(make([]byte, 10)); err == nil {
		t.Error("it is read after it was closed")
	}
}
