package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	_ "modernc.org/sqlite" // the driver that creates the index

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// kelpTables has the tables that opm wrote to an index (operator-registry, pkg/sqlite/migrations,
// version 13), and a package with three bundles. One of them is deprecated with a property, as was
// usual at the time.
const kelpTables = `
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
INSERT INTO package VALUES ('kelp', 'stable');
INSERT INTO channel VALUES ('stable', 'kelp', 'kelp.v1.2.0');
INSERT INTO channel_entry VALUES (1, 'stable', 'kelp', 'kelp.v1.2.0', 2, 0), (2, 'stable', 'kelp', 'kelp.v1.1.0', 3, 1), (3, 'stable', 'kelp', 'kelp.v1.0.0', NULL, 2);
INSERT INTO properties (type, value, operatorbundle_name) VALUES ('olm.deprecated', '{}', 'kelp.v1.0.0');
`

// kelpIndex creates an SQLite index as a file and pushes its images to the source.
func (w *fixture) kelpIndex() {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.path("kelp.db")+"?_pragma=synchronous(OFF)&_pragma=journal_mode(MEMORY)")
	fail.On(w.t, err)
	exec := func(statement string, args ...any) {
		w.t.Helper()
		if _, err := db.ExecContext(w.t.Context(), statement, args...); err != nil {
			w.t.Fatal(err)
		}
	}
	exec(kelpTables)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		name := "kelp.v" + version
		images := map[string]string{}
		for _, part := range []string{"kelp-bundle", "kelp"} {
			img, err := registrytest.BundleImage(part, version)
			fail.On(w.t, err)
			images[part] = w.push("registry.example.com/old/"+part+":v"+version, img)
		}
		manifests := fmt.Sprintf(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":%q},`+
			`"spec":{"version":%q,"description":"Grows & grows.","installModes":[{"type":"AllNamespaces","supported":true}]}}`+"\n", name, version)
		exec("INSERT INTO operatorbundle (name, bundle, bundlepath, version, skiprange) VALUES (?, ?, ?, ?, ?)", name, []byte(manifests), images["kelp-bundle"], version, "<"+version)
		exec("INSERT INTO properties (type, value, operatorbundle_name) VALUES ('olm.package', ?, ?)", `{"packageName":"kelp","version":"`+version+`"}`, name)
		exec("INSERT INTO related_image VALUES (?, ?), (?, ?)", images["kelp-bundle"], name, images["kelp"], name)
	}
	fail.On(w.t, db.Close())
}

// TestSQLiteIndex inspects an SQLite index, the format before file-based catalogs, as an image and
// as a file. It then mirrors the index and checks that the mirror has a file-based catalog.
func TestSQLiteIndex(t *testing.T) {
	t.Parallel()
	long(t)
	w := emptyFixture(t, registrytest.Start(t, registrytest.Options{}))
	w.kelpIndex()
	const ref = "registry.example.com/old/kelp-index:v4.20"
	w.push(ref, mirrortest.FileImage(t, v1.Config{
		Entrypoint: []string{"/bin/opm"}, Cmd: []string{"registry", "serve", "--database", "/database/index.db"},
		Labels: map[string]string{"operators.operatorframework.io.index.database.v1": "/database/index.db"},
	}, map[string]string{"database/index.db": w.read("kelp.db")}))
	file := w.path("kelp.db")

	list := "PACKAGE  CHANNEL           BUNDLE       VERSION\nkelp     stable (default)  kelp.v1.2.0  1.2.0    head\nkelp     stable (default)  kelp.v1.1.0  1.1.0\n"
	for _, from := range []string{ref, file} {
		if diff := cmp.Diff(list, w.must("catalog", "list", from, "kelp").stdout); diff != "" {
			t.Errorf("%s lists (-want +got):\n%s", from, diff)
		}
	}
	rendered := w.must("catalog", "render", ref).stdout
	if diff := cmp.Diff(rendered, w.must("catalog", "render", file).stdout); diff != "" || strings.Count(rendered, "\n") != 4 || !strings.Contains(rendered, `"type":"olm.bundle.object"`) {
		t.Errorf("rendered\n%s\nimage and file differ: %s", rendered, diff)
	}
	w.must("catalog", "convert", file, "--output-dir", w.path("kelp"), "--files", "yaml")
	w.must("catalog", "validate", w.path("kelp"))
	w.must("catalog", "diff", ref, w.path("kelp"), "--exit-code")
	w.refuse(exitError, []string{"cut.db"}, "catalog", "list", w.write("cut.db", w.read("kelp.db")[:5000]))

	for name, from := range map[string]string{"image": ref, "file": "dir://" + file} {
		isc := w.config(name+".yaml", "  operators:\n  - {catalog: '"+from+"', targetCatalog: old/kelp, targetTag: v4.20, full: true}\n")
		w.says(w.must("plan", "-c", isc, "--lock", w.path("plan.json")).stdout, "SQLite", "file-based catalog")
		if c := w.readPlan("plan.json").Catalogs[0]; !c.Built || !c.BinaryLess || c.ConfigsDir != "/configs" {
			t.Errorf("the plan has the catalog as %+v", c)
		}
		w.says(w.must("mirror", "-c", isc, w.docker("/"+name), "--workspace", w.path("ws-"+name)).stdout, "1 note")
		if v := w.verify(name, "old/kelp", 2); len(v.Images) != 4 {
			t.Errorf("the catalog names %v", v.Images)
		}
		w.must("catalog", "diff", file, w.mirror.Host+"/"+name+"/old/kelp:v4.20", "--exit-code")
		sources, err := filepath.Glob(w.path("ws-" + name + "/cluster-resources/cs-*.yaml"))
		if err != nil || len(sources) != 1 {
			t.Fatalf("%v, %v", sources, err)
		}
		text := w.read(strings.TrimPrefix(sources[0], w.dir+"/"))
		w.says(text, "catalogDir: /configs\n", "image: "+w.mirror.Host+"/"+name+"/old/kelp")
	}
}
