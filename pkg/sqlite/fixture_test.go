package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// schema is the result of opm's migrations (operator-registry, pkg/sqlite/migrations, version 13).
const schema = `
CREATE TABLE schema_migrations (version INTEGER NOT NULL);
INSERT INTO schema_migrations VALUES (13);
CREATE TABLE package (name TEXT PRIMARY KEY, default_channel TEXT);
CREATE TABLE channel (name TEXT, package_name TEXT, head_operatorbundle_name TEXT, PRIMARY KEY (name, package_name));
CREATE TABLE channel_entry (entry_id INTEGER PRIMARY KEY, channel_name TEXT, package_name TEXT, operatorbundle_name TEXT, replaces INTEGER, depth INTEGER);
CREATE TABLE operatorbundle (name TEXT, csv TEXT, bundle TEXT, bundlepath TEXT, version TEXT, skiprange TEXT, replaces TEXT, skips TEXT, substitutesfor TEXT, UNIQUE (name, version, bundlepath));
CREATE TABLE related_image (image TEXT, operatorbundle_name TEXT);
CREATE TABLE properties (type TEXT, value TEXT, operatorbundle_name TEXT, operatorbundle_version TEXT, operatorbundle_path TEXT);
CREATE TABLE dependencies (type TEXT, value TEXT, operatorbundle_name TEXT, operatorbundle_version TEXT, operatorbundle_path TEXT);
CREATE TABLE deprecated (operatorbundle_name TEXT PRIMARY KEY);
`

// A database is an index under construction.
type database struct {
	t    testing.TB
	path string
	db   *sql.DB
}

func create(t testing.TB, statements ...string) *database {
	t.Helper()
	d := &database{t: t, path: filepath.Join(t.TempDir(), "index.db")}
	db, err := sql.Open("sqlite", d.path+"?_pragma=synchronous(OFF)&_pragma=journal_mode(MEMORY)")
	fail.On(t, err)
	d.db = db
	t.Cleanup(func() { db.Close() })
	for _, s := range statements {
		d.exec(s)
	}
	return d
}

func (d *database) exec(statement string, args ...any) int64 {
	d.t.Helper()
	result, err := d.db.Exec(statement, args...)
	if err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
	id, err := result.LastInsertId()
	fail.On(d.t, err)
	return id
}

// close returns the path of the finished database.
func (d *database) close() string {
	d.t.Helper()
	fail.On(d.t, d.db.Close())
	return d.path
}

// An operator is a bundle that is added with opm.
type operator struct {
	name, version, image string
	replaces             string
	skips                []string
	skipRange            string
	csv                  map[string]any // the spec; nil for a bundle without manifests
}

// bundle adds a bundle.
func (d *database) bundle(o operator) {
	var manifests any
	if o.csv != nil {
		csv, err := json.Marshal(map[string]any{
			"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
			"metadata": map[string]any{"name": o.name}, "spec": o.csv,
		})
		fail.On(d.t, err)
		manifests = fmt.Appendf(nil, "%s\n%s\n", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"metrics"}}`, csv)
	}
	d.exec("INSERT INTO operatorbundle (name, bundle, bundlepath, version, skiprange, replaces, skips) VALUES (?, ?, ?, ?, ?, ?, ?)",
		o.name, manifests, o.image, o.version, o.skipRange, o.replaces, strings.Join(o.skips, ","))
}

func (d *database) property(bundle, kind, value string) {
	d.exec("INSERT INTO properties (type, value, operatorbundle_name) VALUES (?, ?, ?)", kind, value, bundle)
}

// channel adds a channel from its head down, with the rows that opm adds
// (sqlLoader.addPackageChannels).
func (d *database) channel(pkg, name, head string, bundles map[string]operator) {
	d.exec("INSERT INTO channel VALUES (?, ?, ?)", name, pkg, head)
	entry := func(bundle string, depth int) int64 {
		return d.exec("INSERT INTO channel_entry (channel_name, package_name, operatorbundle_name, depth) VALUES (?, ?, ?, ?)", name, pkg, bundle, depth)
	}
	replaces := func(id, target int64) { d.exec("UPDATE channel_entry SET replaces = ? WHERE entry_id = ?", target, id) }

	at, id, depth := bundles[head], entry(head, 0), 1
	for {
		for _, skip := range at.skips {
			skipped := entry(skip, depth)
			replaces(entry(at.name, depth), skipped)
			depth++
		}
		if at.replaces == "" {
			return
		}
		next := entry(at.replaces, depth)
		replaces(id, next)
		id, at = next, bundles[at.replaces]
		depth++
	}
}

// lantern is an index with one package. Its bundle 1.2.0 skips a bundle further down, so that this
// bundle's own row is not its first.
func lantern(t testing.TB) *database {
	d := create(t, schema)
	bundles := map[string]operator{}
	for _, o := range []operator{
		{name: "lantern.v1.3.0", version: "1.3.0", image: "quay.io/l/lantern:v1.3.0", replaces: "lantern.v1.2.0", skipRange: ">=1.0.0 <1.3.0", csv: map[string]any{
			"version": "1.3.0", "description": "Light & <shade>\n",
			"icon":          []any{map[string]any{"base64data": "PHN2 Zy8+", "mediatype": "image/svg+xml"}},
			"relatedImages": []any{map[string]any{"name": "lamp", "image": "quay.io/l/lamp:v2"}, map[string]any{"name": "none", "image": ""}},
		}},
		{name: "lantern.v1.2.0", version: "1.2.0", image: "quay.io/l/lantern:v1.2.0", replaces: "lantern.v1.1.0", skips: []string{"lantern.v1.0.1", "lantern.v1.0.2", "lantern.v1.0.0", "lantern.v0.9.9"}},
		{name: "lantern.v1.1.0", version: "1.1.0", image: "quay.io/l/lantern:v1.1.0", replaces: "lantern.v1.0.1"},
		{name: "lantern.v1.0.1", version: "1.0.1", image: "quay.io/l/lantern:v1.0.1", replaces: "lantern.v1.0.0"},
		{name: "lantern.v1.0.0", version: "1.0.0", image: "quay.io/l/lantern:v1.0.0"},
		{name: "lantern.v1.0.2", version: "1.0.2", image: "quay.io/l/lantern:v1.0.2"},
	} {
		bundles[o.name] = o
		d.bundle(o)
		if o.name != "lantern.v1.0.0" {
			d.property(o.name, "olm.package", `{"packageName": "lantern", "version": "`+o.version+`"}`)
		}
		d.exec("INSERT INTO related_image VALUES (?, ?)", o.image, o.name)
	}
	d.exec("INSERT INTO package VALUES ('lantern', 'stable')")
	d.channel("lantern", "stable", "lantern.v1.3.0", bundles)
	d.channel("lantern", "alpha", "lantern.v1.0.1", bundles)

	head := "lantern.v1.3.0"
	d.exec("INSERT INTO properties (type, value, operatorbundle_name) VALUES (?, ?, ?)", "olm.gvk", []byte(`{"version":"v1","group":"l.example.com","kind":"Lamp"}`), head)
	d.property(head, "olm.maxOpenShiftVersion", `"4.9"`)
	d.property(head, "olm.maxOpenShiftVersion", `"4.9"`)
	for kind, value := range map[string]string{
		"olm.gvk":        `{"type":"olm.gvk","group":"t.example.com","kind":"Tide","version":"v1"}`,
		"olm.package":    `{"packageName":"tidewater","version":">1.0.0"}`,
		"olm.label":      `{"label":"certified"}`,
		"olm.constraint": `{"failureMessage":"no","package":{"packageName":"x","versionRange":">1"}}`,
	} {
		d.exec("INSERT INTO dependencies (type, value, operatorbundle_name) VALUES (?, ?, ?)", kind, value, head)
	}
	for _, image := range []string{"quay.io/l/operator:v1.3.0", "quay.io/l/lamp:v2", ""} {
		d.exec("INSERT INTO related_image VALUES (?, ?)", image, head)
	}
	return d
}
