package template

import (
	"context"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

const substitutesStart = `schema: olm.template.substitutes
entries:
- {schema: olm.package, name: a, defaultChannel: stable}
- schema: olm.channel
  package: a
  name: stable
  properties: [{type: x, value: 1}]
  entries:
  - {name: a.v1.0.0}
  - {name: a.v1.1.0, replaces: a.v1.0.0, skips: [a.v1.0.5], skipRange: "<1.1.0"}
  - {name: a.v1.2.0, replaces: a.v1.1.0}
- {schema: olm.channel, package: a, name: fast, entries: [{name: a.v1.2.0, skips: [a.v1.1.0]}]}
`

// substitutesOf is a catalog of three bundles, with these substitutions.
func substitutesOf(substitutions string) string {
	text := substitutesStart
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		text += `- {schema: olm.bundle, package: a, name: a.v` + version + `, image: "registry.example.com/a:` + version +
			`", properties: [{type: olm.package, value: {packageName: a, version: ` + version + "}}]}\n"
	}
	return text + "substitutions:\n" + substitutions
}

// TestSubstitutes checks the update graph that opm makes of the same template.
func TestSubstitutes(t *testing.T) {
	got := rendered(t, substitutesOf(`- {name: "registry.example.com/a:1.1.1", base: a.v1.1.0}
- {name: "registry.example.com/a:1.1.2", base: a.v1.1.1}
`))
	want := []string{
		`{"schema":"olm.package","name":"a","defaultChannel":"stable"}`,
		`{"schema":"olm.channel","name":"fast","package":"a","entries":[{"name":"a.v1.2.0","skips":["a.v1.1.2"]}]}`,
		`{"schema":"olm.channel","name":"stable","package":"a","entries":[{"name":"a.v1.0.0"},{"name":"a.v1.1.0"},` +
			`{"name":"a.v1.2.0","replaces":"a.v1.1.2","skips":["a.v1.1.0","a.v1.1.1"]},{"name":"a.v1.1.1"},` +
			`{"name":"a.v1.1.2","replaces":"a.v1.0.0","skips":["a.v1.0.5","a.v1.1.0","a.v1.1.1"],"skipRange":"<1.1.0"}],"properties":[{"type":"x","value":1}]}`,
		"a.v1.0.0 registry.example.com/a:1.0.0", "a.v1.1.0 registry.example.com/a:1.1.0", "a.v1.1.1 registry.example.com/a:1.1.1",
		"a.v1.1.2 registry.example.com/a:1.1.2", "a.v1.2.0 registry.example.com/a:1.2.0",
	}
	fail.Diff(t, want, got)
}

func TestSubstitutesRefuses(t *testing.T) {
	for substitutions, message := range map[string]string{
		`- {name: "registry.example.com/a:1.1.1"}`:                                                                       "substitutions[0]: it needs name",
		`- {name: "registry.example.com/a:1.1.1", base: a.v9}`:                                                           "no channel of package a has the bundle a.v9",
		`- {name: "registry.example.com/a:1.1.0", base: a.v1.0.0}`:                                                       "the catalog has the bundle a.v1.1.0",
		`- {name: "registry.example.com/b:1.1.1", base: a.v1.0.0}`:                                                       "no channel of package b has the bundle a.v1.0.0",
		"- {name: registry.example.com/a:1.1.1, base: a.v1.0.0}\n- {name: registry.example.com/a:1.1.2, base: a.v1.0.0}": "substitutions[1]: the bundle a.v1.0.0 has a substitute already",
		`- {name: "registry.example.com/a:0.9.0", base: a.v1.0.0}`:                                                       "the bundle a.v1.0.0 (1.0.0) is not older than its substitute a.v0.9.0 (0.9.0)",
	} {
		tmpl, err := Read("t.yaml", strings.NewReader(substitutesOf(substitutions+"\n")))
		if err == nil {
			_, err = tmpl.Render(t.Context(), bundleOfTag)
		}
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want %q", substitutions, err, message)
		}
	}
}

// The entries and what becomes of them are valid, as catalog validate checks them.
func TestSubstitutesRefusesInvalidCatalogs(t *testing.T) {
	const one = `- {name: "registry.example.com/a:1.1.1", base: a.v1.1.0}` + "\n"
	for _, tc := range []struct{ old, next, message string }{
		{"registry.example.com/a:1.0.0", "registry.example.com/a b:1.0.0", `bundle "a.v1.0.0": the image "registry.example.com/a b:1.0.0" is not a reference`},
		{"defaultChannel: stable", "defaultChannel: slow", "entries: "},
		{", replaces: a.v1.1.0}", "}", "entries: "}, // two heads
	} {
		_, err := Read("t.yaml", strings.NewReader(strings.Replace(substitutesOf(one), tc.old, tc.next, 1)))
		if err == nil || !strings.Contains(err.Error(), tc.message) {
			t.Errorf("with %q: %v, want %q", tc.next, err, tc.message)
		}
	}
	tmpl, err := Read("t.yaml", strings.NewReader(substitutesOf(one)))
	fail.On(t, err)
	_, err = tmpl.Render(t.Context(), func(ctx context.Context, image string) (*catalog.Meta, error) {
		m, err := bundleOfTag(ctx, image)
		if err != nil {
			return nil, err
		}
		return m.With("image", "registry.example.com/A b")
	})
	if err == nil || !strings.Contains(err.Error(), `the catalog after the substitutions: OLM rejects the catalog: package "a", bundle "a.v1.1.1": the image "registry.example.com/A b" is not a reference`) {
		t.Errorf("with an invalid image of a substitute: %v", err)
	}
	for _, text := range []string{"schema: olm.template.substitutes\nentries: []\n", "schema: olm.template.basic\nentries: []\n"} {
		if _, err := Read("t.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "entries is empty or missing") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Read("t.yaml", strings.NewReader(substitutesOf(one)+"---\n"+substitutesOf(one))); err == nil || !strings.Contains(err.Error(), "it has 2 objects; a template is one object") {
		t.Errorf("with two documents: %v", err)
	}
}
