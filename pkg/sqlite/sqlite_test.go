package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/sqlite"
)

// streamFile streams the database at a path.
func streamFile(ctx context.Context, path string, each func(*catalog.Meta) error) error {
	return sqlite.Reader{}.StreamFile(ctx, os.DirFS(filepath.Dir(path)), filepath.Base(path), each)
}

// objects returns the text of all objects of a database, one per line.
func objects(t testing.TB, path string) (string, error) {
	t.Helper()
	var all strings.Builder
	err := streamFile(t.Context(), path, func(m *catalog.Meta) error {
		all.Write(m.Raw)
		all.WriteByte('\n')
		return nil
	})
	return all.String(), err
}

func read(t testing.TB, path string) *catalog.Catalog {
	t.Helper()
	var metas []*catalog.Meta
	if err := streamFile(t.Context(), path, func(m *catalog.Meta) error {
		metas = append(metas, m)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.New(metas)
	fail.On(t, err)
	return c
}

func TestStreamFile(t *testing.T) {
	path := lantern(t).close()
	got, err := objects(t, path)
	fail.On(t, err)
	bundle := func(version string) string {
		return `{"schema":"olm.bundle","name":"lantern.v` + version + `","package":"lantern","image":"quay.io/l/lantern:v` + version + `",` +
			`"properties":[{"type":"olm.package","value":{"packageName":"lantern","version":"` + version + `"}}],` +
			`"relatedImages":[{"name":"","image":"quay.io/l/lantern:v` + version + `"}]}` + "\n"
	}
	want := `{"schema":"olm.package","name":"lantern","defaultChannel":"stable","icon":{"base64data":"PHN2Zy8+","mediatype":"image/svg+xml"},"description":"Light & <shade>\n"}
{"schema":"olm.channel","name":"alpha","package":"lantern","entries":[{"name":"lantern.v1.0.0"},{"name":"lantern.v1.0.1","replaces":"lantern.v1.0.0"}]}
{"schema":"olm.channel","name":"stable","package":"lantern","entries":[{"name":"lantern.v1.0.0"},{"name":"lantern.v1.0.1","replaces":"lantern.v1.0.0"},{"name":"lantern.v1.0.2"},{"name":"lantern.v1.1.0","replaces":"lantern.v1.0.1"},{"name":"lantern.v1.2.0","replaces":"lantern.v1.1.0","skips":["lantern.v1.0.1","lantern.v1.0.2","lantern.v1.0.0","lantern.v0.9.9"]},{"name":"lantern.v1.3.0","replaces":"lantern.v1.2.0","skipRange":">=1.0.0 <1.3.0"}]}
` + bundle("1.0.0") + bundle("1.0.1") + bundle("1.0.2") + bundle("1.1.0") + bundle("1.2.0") +
		`{"schema":"olm.bundle","name":"lantern.v1.3.0","package":"lantern","image":"quay.io/l/lantern:v1.3.0","properties":[` +
		`{"type":"olm.constraint","value":{"failureMessage":"no","package":{"packageName":"x","versionRange":">1"}}},` +
		`{"type":"olm.gvk","value":{"group":"l.example.com","kind":"Lamp","version":"v1"}},` +
		`{"type":"olm.gvk.required","value":{"group":"t.example.com","kind":"Tide","version":"v1"}},` +
		`{"type":"olm.label.required","value":{"label":"certified"}},` +
		`{"type":"olm.maxOpenShiftVersion","value":"4.9"},` +
		`{"type":"olm.package","value":{"packageName":"lantern","version":"1.3.0"}},` +
		`{"type":"olm.package.required","value":{"packageName":"tidewater","versionRange":">1.0.0"}},` +
		`{"type":"olm.bundle.object","value":{"data":"eyJhcGlWZXJzaW9uIjoib3BlcmF0b3JzLmNvcmVvcy5jb20vdjFhbHBoYTEiLCJraW5kIjoiQ2x1c3RlclNlcnZpY2VWZXJzaW9uIiwibWV0YWRhdGEiOnsibmFtZSI6ImxhbnRlcm4udjEuMy4wIn0sInNwZWMiOnsiZGVzY3JpcHRpb24iOiJMaWdodCBcdTAwMjYgXHUwMDNjc2hhZGVcdTAwM2VcbiIsImljb24iOlt7ImJhc2U2NGRhdGEiOiJQSE4yIFp5OCsiLCJtZWRpYXR5cGUiOiJpbWFnZS9zdmcreG1sIn1dLCJyZWxhdGVkSW1hZ2VzIjpbeyJpbWFnZSI6InF1YXkuaW8vbC9sYW1wOnYyIiwibmFtZSI6ImxhbXAifSx7ImltYWdlIjoiIiwibmFtZSI6Im5vbmUifV0sInZlcnNpb24iOiIxLjMuMCJ9fQ=="}},` +
		`{"type":"olm.bundle.object","value":{"data":"eyJhcGlWZXJzaW9uIjoidjEiLCJraW5kIjoiU2VydmljZSIsIm1ldGFkYXRhIjp7Im5hbWUiOiJtZXRyaWNzIn19"}}],` +
		`"relatedImages":[{"name":"lamp","image":"quay.io/l/lamp:v2"},{"name":"","image":"quay.io/l/lantern:v1.3.0"},{"name":"","image":"quay.io/l/operator:v1.3.0"}]}
`
	fail.Diff(t, want, got)
	if problems := validate.Catalog(read(t, path)); problems != nil {
		t.Errorf("the catalog is not valid: %v", problems)
	}

	// Streaming through a temporary file gives the same, and the file is removed.
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	text, err := os.ReadFile(path)
	fail.On(t, err)
	var streamed strings.Builder
	err = sqlite.Reader{}.Stream(t.Context(), bytes.NewReader(text), func(m *catalog.Meta) error {
		names, err := filepath.Glob(filepath.Join(temporary, "*.db"))
		if err != nil || len(names) != 1 {
			t.Errorf("temporary files: %q, %v", names, err)
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
			}
		}
		streamed.Write(append(m.Raw, '\n'))
		return nil
	})
	if err != nil || streamed.String() != got {
		t.Errorf("streamed %v\n%s", err, cmp.Diff(got, streamed.String()))
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A deprecated bundle is omitted with its entries; entries that update to it stay. A channel or
// package that would be empty is omitted.
func TestDeprecated(t *testing.T) {
	d := lantern(t)
	for _, name := range []string{"lantern.v1.0.0", "lantern.v1.0.1"} {
		d.property(name, "olm.deprecated", "{}")
	}
	d.exec("INSERT INTO package VALUES ('old', 'stable'), ('unused', NULL)")
	d.bundle(operator{name: "old.v1", version: "1.0.0", image: "quay.io/old:v1", csv: map[string]any{}})
	d.property("old.v1", "olm.deprecated", "{}")
	d.channel("old", "stable", "old.v1", map[string]operator{"old.v1": {name: "old.v1"}})

	c := read(t, d.close())
	fail.Diff(t, []string{"lantern"}, c.Names)
	p := c.Package("lantern")
	if len(p.Channels) != 1 || len(p.Bundles) != 4 {
		t.Fatalf("got %d channels and %d bundles", len(p.Channels), len(p.Bundles))
	}
	want := []catalog.Entry{
		{Name: "lantern.v1.0.2"},
		{Name: "lantern.v1.1.0", Replaces: "lantern.v1.0.1"},
		{Name: "lantern.v1.2.0", Replaces: "lantern.v1.1.0", Skips: []string{"lantern.v1.0.1", "lantern.v1.0.2", "lantern.v1.0.0", "lantern.v0.9.9"}},
		{Name: "lantern.v1.3.0", Replaces: "lantern.v1.2.0", SkipRange: ">=1.0.0 <1.3.0"},
	}
	fail.Diff(t, want, p.Channels[0].Entries)
}

// A bundle without an image contains its manifests; one that is only a name is omitted.
func TestBundlesWithoutImage(t *testing.T) {
	d := create(t, schema, "INSERT INTO package VALUES ('a', 'x')", "INSERT INTO operatorbundle (name) VALUES ('a.v0')")
	bundles := map[string]operator{
		"a.v2": {name: "a.v2", version: "2.0.0", replaces: "a.v1", csv: map[string]any{"version": "2.0.0"}},
		"a.v1": {name: "a.v1", version: "1.0.0", replaces: "a.v0", csv: map[string]any{"version": "1.0.0"}},
	}
	for _, o := range bundles {
		d.bundle(o)
	}
	d.exec("UPDATE operatorbundle SET bundlepath = NULL WHERE name = 'a.v1'") // as before version 10
	d.channel("a", "x", "a.v2", bundles)
	c := read(t, d.close())
	p := c.Package("a")
	if len(p.Bundles) != 2 || len(p.Channels[0].Entries) != 2 || p.Channels[0].Entries[0].Replaces != "a.v0" {
		t.Errorf("got %d bundles, %+v", len(p.Bundles), p.Channels[0].Entries)
	}
	for _, b := range p.Bundles {
		objects := 0
		for _, property := range b.Properties {
			if property.Type == "olm.bundle.object" {
				objects++
			}
		}
		if b.Image != "" || objects != 2 {
			t.Errorf("%s: image %q, %d objects", b.Name, b.Image, objects)
		}
	}
	if problems := validate.Catalog(c); problems != nil {
		t.Errorf("the catalog is not valid: %v", problems)
	}
}

// Before version 9 there is no table of properties, before 8 no table of dependencies.
func TestOlderSchema(t *testing.T) {
	d := lantern(t)
	want := read(t, d.path)
	for _, s := range []string{
		"CREATE TABLE api_provider (group_name TEXT, version TEXT, kind TEXT, operatorbundle_name TEXT, operatorbundle_version TEXT, operatorbundle_path TEXT)",
		"CREATE TABLE api_requirer (group_name TEXT, version TEXT, kind TEXT, operatorbundle_name TEXT, operatorbundle_version TEXT, operatorbundle_path TEXT)",
		"INSERT INTO api_provider VALUES ('l.example.com', 'v1', 'Lamp', 'lantern.v1.3.0', NULL, NULL)",
		"INSERT INTO api_requirer VALUES ('t.example.com', 'v1', 'Tide', 'lantern.v1.3.0', NULL, NULL)",
		"DROP TABLE properties", "DROP TABLE dependencies", "DROP TABLE deprecated", "UPDATE schema_migrations SET version = 7",
		"ALTER TABLE operatorbundle DROP COLUMN substitutesfor", "ALTER TABLE operatorbundle DROP COLUMN csv",
	} {
		d.exec(s)
	}
	got := read(t, d.close())
	fail.Diff(t, want.Package("lantern").Channel("stable").Entries, got.Package("lantern").Channel("stable").Entries)
	kept := map[string]bool{"olm.package": true, "olm.gvk": true, "olm.gvk.required": true, "olm.bundle.object": true}
	for i, b := range got.Package("lantern").Bundles {
		var properties []catalog.Property
		for _, p := range want.Package("lantern").Bundles[i].Properties {
			if kept[p.Type] {
				properties = append(properties, p)
			}
		}
		if diff := cmp.Diff(properties, b.Properties); diff != "" {
			t.Errorf("%s: properties (-want +got):\n%s", b.Name, diff)
		}
	}
}

func TestStops(t *testing.T) {
	path := lantern(t).close()
	enough := errors.New("enough")
	seen := 0
	err := streamFile(t.Context(), path, func(*catalog.Meta) error {
		if seen++; seen == 5 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || seen != 5 {
		t.Errorf("got %v after %d objects", err, seen)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	err = streamFile(ctx, path, func(*catalog.Meta) error {
		cancel(enough)
		return nil
	})
	fail.Diff(t, enough, err, cmpopts.EquateErrors())
	fail.Diff(t, context.Canceled, (sqlite.Reader{}).Stream(ctx, strings.NewReader("x"), nil), cmpopts.EquateErrors())
}
