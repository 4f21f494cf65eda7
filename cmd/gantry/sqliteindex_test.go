package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	_ "modernc.org/sqlite" // the driver that creates the index
	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

const kelpRef = "registry.example.com/old/kelp-index:v4.20"

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
	if err != nil {
		w.t.Fatal(err)
	}
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
			if err != nil {
				w.t.Fatal(err)
			}
			images[part] = w.push("registry.example.com/old/"+part+":v"+version, img)
		}
		manifests := fmt.Sprintf(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":%q},`+
			`"spec":{"version":%q,"description":"Grows & grows.","installModes":[{"type":"AllNamespaces","supported":true}]}}`+"\n", name, version)
		exec("INSERT INTO operatorbundle (name, bundle, bundlepath, version, skiprange) VALUES (?, ?, ?, ?, ?)", name, []byte(manifests), images["kelp-bundle"], version, "<"+version)
		exec("INSERT INTO properties (type, value, operatorbundle_name) VALUES ('olm.package', ?, ?)", `{"packageName":"kelp","version":"`+version+`"}`, name)
		exec("INSERT INTO related_image VALUES (?, ?), (?, ?)", images["kelp-bundle"], name, images["kelp"], name)
	}
	if err := db.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// TestSQLiteIndex inspects an SQLite index, the format before file-based catalogs, as an image and
// as a file. It then mirrors the index and checks that the mirror has a file-based catalog.
func TestSQLiteIndex(t *testing.T) {
	t.Parallel()
	long(t)
	w := emptyFixture(t, registrytest.Start(t, registrytest.Options{}))
	w.kelpIndex()
	w.push(kelpRef, mirrortest.FileImage(t, v1.Config{
		Entrypoint: []string{"/bin/opm"}, Cmd: []string{"registry", "serve", "--database", "/database/index.db"},
		Labels: map[string]string{"operators.operatorframework.io.index.database.v1": "/database/index.db"},
	}, map[string]string{"database/index.db": w.read("kelp.db")}))
	file := w.path("kelp.db")

	list := "PACKAGE  CHANNEL           BUNDLE       VERSION\nkelp     stable (default)  kelp.v1.2.0  1.2.0    head\nkelp     stable (default)  kelp.v1.1.0  1.1.0\n"
	for _, from := range []string{kelpRef, file} {
		if diff := cmp.Diff(list, w.must("catalog", "list", from, "kelp").stdout); diff != "" {
			t.Errorf("%s lists (-want +got):\n%s", from, diff)
		}
	}
	rendered := w.must("catalog", "render", kelpRef).stdout
	if diff := cmp.Diff(rendered, w.must("catalog", "render", file).stdout); diff != "" {
		t.Errorf("image and file render differently: %s", diff)
	}
	if n := strings.Count(rendered, "\n"); n != 4 || !strings.Contains(rendered, `"type":"olm.bundle.object"`) || strings.Contains(rendered, "kelp.v1.0.0\",\"package") {
		t.Errorf("rendered %d objects:\n%s", n, rendered)
	}
	w.must("catalog", "convert", file, "--output-dir", w.path("kelp"), "--files", "yaml")
	w.must("catalog", "validate", w.path("kelp"))
	w.must("catalog", "diff", kelpRef, w.path("kelp"), "--exit-code")

	for _, from := range []struct{ name, catalog string }{{"image", kelpRef}, {"file", "dir://" + file}} {
		t.Run(from.name, func(t *testing.T) {
			w := *w
			w.t = t
			w.mirrorKelp(from.name, from.catalog)
		})
	}
}

// mirrorKelp plans and mirrors the index and checks that clusters can use the mirror.
func (w *fixture) mirrorKelp(name, from string) {
	t := w.t
	workspace := []string{"--workspace", w.path("ws-" + name)}
	isc := w.config(name+".yaml", "  operators:\n  - {catalog: '"+from+"', targetCatalog: old/kelp, targetTag: v4.20, full: true}\n")
	var plan struct {
		Plan struct {
			Catalogs []struct {
				Built, BinaryLess bool
				ConfigsDir        string
			}
			Notes []string
		}
	}
	o := w.must(append([]string{"plan", "-c", isc, "--output", "json"}, workspace...)...)
	if err := json.Unmarshal([]byte(o.stdout), &plan); err != nil {
		t.Fatal(err)
	}
	if c := plan.Plan.Catalogs[0]; !c.Built || !c.BinaryLess || c.ConfigsDir != "/configs" {
		t.Errorf("the plan has the catalog as %+v", c)
	}
	if notes := strings.Join(plan.Plan.Notes, "\n"); !strings.Contains(notes, "SQLite") || !strings.Contains(notes, "file-based catalog") {
		t.Errorf("the original format is not noted:\n%s", notes)
	}
	o = w.must(append([]string{"mirror", "-c", isc, w.docker("/" + name)}, workspace...)...)
	if !strings.Contains(o.stdout, "1 note") {
		t.Errorf("the note is not counted:\n%s", o.stdout)
	}
	v := w.verify(name, "old/kelp", 2)
	if len(v.Images) != 4 {
		t.Errorf("the catalog names %v", v.Images)
	}
	w.must(append([]string{"verify", "-c", isc, w.docker("/" + name)}, workspace...)...)
	w.must("catalog", "diff", w.path("kelp.db"), w.mirror.Host+"/"+name+"/old/kelp:v4.20", "--exit-code")

	sources := 0
	for file, text := range readFolder(t, w.path("ws-"+name+"/cluster-resources")) {
		if !strings.HasPrefix(file, "cs-") {
			continue
		}
		sources++
		var source struct {
			Spec struct {
				Image         string
				GrpcPodConfig struct {
					ExtractContent struct{ CatalogDir, CacheDir string }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(text), &source); err != nil {
			t.Fatal(err)
		}
		if at := source.Spec.GrpcPodConfig.ExtractContent; at.CatalogDir != "/configs" || at.CacheDir != "" || !strings.HasPrefix(source.Spec.Image, w.mirror.Host+"/"+name+"/old/kelp") {
			t.Errorf("%s:\n%s", file, text)
		}
	}
	if sources != 1 {
		t.Errorf("%d CatalogSources, want 1", sources)
	}
}

// TestSQLiteIndexDamaged checks that an unreadable index is reported and leaves no files behind.
func TestSQLiteIndexDamaged(t *testing.T) {
	w := emptyFixture(t, registrytest.Start(t, registrytest.Options{}))
	w.kelpIndex()
	whole := w.read("kelp.db")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for name, text := range map[string]string{"cut.db": whole[:len(whole)/2], "other.db": whole[:16] + strings.Repeat("x", 5000)} {
		w.refuse(exitError, []string{name}, "catalog", "list", w.write(name, text))
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
