package bundle_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/bundle"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

var update = flag.Bool("update", false, "write the golden files")

// The golden files are the objects, indented.
func TestMeta(t *testing.T) {
	b, err := bundle.Read(os.DirFS("testdata/tidewater"))
	fail.On(t, err)
	for name, tc := range map[string]struct {
		image   string
		migrate bool
	}{
		"excerpt": {tidewaterImage, true},
		"objects": {tidewaterImage, false},
		"inline":  {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := b.Meta(tc.image)
			if err == nil && tc.migrate {
				m, err = bundle.Migrate(m)
			}
			fail.On(t, err)
			if m.Schema != "olm.bundle" || m.Package != "tidewater" || m.Name != "tidewater.v1.2.0" {
				t.Errorf("got %s %s %s", m.Schema, m.Package, m.Name)
			}
			var text bytes.Buffer
			fail.On(t, json.Indent(&text, m.Raw, "", "  "))
			text.WriteByte('\n')
			golden := filepath.Join("testdata", "golden", name+".json")
			if *update {
				fail.On(t, os.WriteFile(golden, text.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			fail.On(t, err)
			fail.Diff(t, string(want), text.String())
		})
	}
}

func TestMigrate(t *testing.T) {
	b, err := bundle.Read(os.DirFS("testdata/tidewater"))
	fail.On(t, err)
	meta := func(image string) *catalog.Meta {
		m, err := b.Meta(image)
		fail.On(t, err)
		return m
	}
	excerpt, err := bundle.Migrate(meta(tidewaterImage))
	fail.On(t, err)
	for name, m := range map[string]*catalog.Meta{
		"migrated before":  excerpt,
		"without an image": meta(""),
		"without manifests": {Schema: "olm.bundle", Package: "a", Name: "a.v1",
			Raw: []byte(`{"schema":"olm.bundle", "package":"a","name":"a.v1","image":"q.io/a:v1"}`)},
		"another object": {Schema: "olm.channel", Package: "a", Name: "a", Raw: []byte(`{"schema":"olm.channel"}`)},
	} {
		if got, err := bundle.Migrate(m); err != nil || got != m {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	for value, want := range map[string]string{
		`{"data":1}`: "reading a property olm.bundle.object of bundle a.v1: data must be a list, not a number",
		// {"kind":"ClusterServiceVersion","spec":[]}
		`{"data":"eyJraW5kIjoiQ2x1c3RlclNlcnZpY2VWZXJzaW9uIiwic3BlYyI6W119"}`: "reading bundle a.v1: reading the ClusterServiceVersion: spec must be an object, not a list",
	} {
		m, err := bundle.Encode(&catalog.Bundle{Package: "a", Name: "a.v1", Image: "q.io/a:v1", Properties: []catalog.Property{
			{Type: "olm.bundle.object", Value: []byte(value)},
		}})
		fail.On(t, err)
		if _, err = bundle.Migrate(m); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", value, err, want)
		}
	}
}

func TestEncode(t *testing.T) {
	m, err := bundle.Encode(&catalog.Bundle{
		Package: "a", Name: "a.v1", Image: "q.io/a:v1",
		Properties: []catalog.Property{
			{Type: "olm.bundle.object", Value: []byte(`{ "data" : "e30=" }`)},
			{Type: "z", Value: []byte(`"\u003e\u00e9"`)},
			{Type: "olm.package", Value: []byte(`{"packageName":"a","version":"1.0.0"}`)},
			{Type: "z", Value: []byte(`12345678901234567890`)},
			{Type: "z", Value: []byte(` ">é"`)},
		},
		RelatedImages: []catalog.RelatedImage{{Image: "b"}, {Name: "y", Image: "a"}, {Name: "x", Image: "a"}},
	})
	fail.On(t, err)
	want := `{"schema":"olm.bundle","name":"a.v1","package":"a","image":"q.io/a:v1","properties":[` +
		`{"type":"olm.package","value":{"packageName":"a","version":"1.0.0"}},` +
		`{"type":"z","value":">é"},{"type":"z","value":12345678901234567890},` +
		`{"type":"olm.bundle.object","value":{"data":"e30="}}],` +
		`"relatedImages":[{"name":"x","image":"a"},{"name":"y","image":"a"},{"name":"","image":"b"}]}`
	fail.Diff(t, want, string(m.Raw))

	_, err = bundle.Encode(&catalog.Bundle{Name: "a.v1", Properties: []catalog.Property{{Type: "z", Value: []byte("{")}}})
	if want := "reading property z: "; err == nil || !bytes.HasPrefix([]byte(err.Error()), []byte(want)) {
		t.Errorf("got %v, want %s", err, want)
	}
}
