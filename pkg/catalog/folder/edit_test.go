package folder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/folder"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestEdit(t *testing.T) {
	const deprecations = `{"schema":"olm.deprecations","package":"a","entries":[{"reference":{"schema":"olm.package"},"message":"one"}]}`
	after := &catalog.Meta{Schema: "olm.deprecations", Raw: []byte(`{"schema":"olm.deprecations","package":"a","entries":[]}`)}
	const yamlAfter = "schema: olm.deprecations\npackage: a\nentries: []\n"
	for _, tc := range []struct {
		name, text string
		replace    bool
		after      *catalog.Meta
		want       string
	}{
		{"a line of JSON", "{\"schema\":\"x\"}\n" + deprecations + "\n{\"schema\":\"y\"}\n", true, after,
			"{\"schema\":\"x\"}\n" + string(after.Raw) + "\n{\"schema\":\"y\"}\n"},
		{"JSON is taken out", "{\"schema\":\"x\"}\n" + deprecations + "\n", true, nil, "{\"schema\":\"x\"}\n"},
		{"JSON is taken out of a line", "{\"schema\":\"x\"}" + deprecations + "\n", true, nil, "{\"schema\":\"x\"}\n"},
		{"JSON is added", "{\n  \"schema\": \"olm.package\", \"name\": \"a\"\n}", false, after,
			"{\n  \"schema\": \"olm.package\", \"name\": \"a\"\n}\n" + string(after.Raw) + "\n"},
		{"a document of YAML", "# of a\nschema: olm.package\nname: a # mine\n---\nschema: olm.deprecations\npackage: a\nentries:\n- reference: {schema: olm.package}\n  message: |\n    one\n    --- two\n---\nschema: x\n", true, after,
			"# of a\nschema: olm.package\nname: a # mine\n---\n" + yamlAfter + "---\nschema: x\n"},
		{"YAML is taken out of the middle", "---\nschema: olm.package\nname: a\n---\nschema: olm.deprecations\npackage: a\nentries: []\n---\nschema: x\n", true, nil,
			"---\nschema: olm.package\nname: a\n---\nschema: x\n"},
		{"YAML is taken out at the end", "---\nschema: olm.package\nname: a\n---\nschema: olm.deprecations\npackage: a\nentries: []\n", true, nil,
			"---\nschema: olm.package\nname: a\n"},
		{"YAML is added", "schema: olm.package\nname: a\n", false, after, "schema: olm.package\nname: a\n---\n" + yamlAfter},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			fail.On(t, os.MkdirAll(filepath.Join(dir, "p"), 0o755))
			name := filepath.Join(dir, "p", "f")
			fail.On(t, os.WriteFile(name, []byte(tc.text), 0o600))
			var before, beside *catalog.Meta
			if err := catalog.Stream(t.Context(), os.DirFS(dir), func(m *catalog.Meta) error {
				if m.Schema == "olm.deprecations" && tc.replace {
					before = m
				}
				if m.Schema == "olm.package" {
					beside = m
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			fail.On(t, folder.Edit(dir, before, tc.after, beside))
			got, err := os.ReadFile(name)
			fail.On(t, err)
			fail.Diff(t, tc.want, string(got))
			fail.On(t, catalog.Stream(t.Context(), os.DirFS(dir), func(*catalog.Meta) error { return nil }))
		})
	}
}
