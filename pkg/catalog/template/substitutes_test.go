package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSubstitutesRefuses(t *testing.T) {
	for substitutions, message := range map[string]string{
		`- {name: "registry.example.com/a:1.1.1"}`:                 "substitutions[0]: it needs name",
		`- {name: "registry.example.com/a:1.1.1", base: a.v9}`:     "no channel of package a has the bundle a.v9",
		`- {name: "registry.example.com/a:1.1.0", base: a.v1.0.0}`: "the catalog has the bundle a.v1.1.0",
		`- {name: "registry.example.com/b:1.1.1", base: a.v1.0.0}`: "no channel of package b has the bundle a.v1.0.0",
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
