package template

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// bundleOfTag renders "registry.example.com/pkg:VERSION" as bundle pkg.vVERSION.
func bundleOfTag(_ context.Context, image string) (*catalog.Meta, error) {
	repository, version, _ := strings.Cut(image, ":")
	pkg := repository[strings.LastIndex(repository, "/")+1:]
	csv := fmt.Sprintf(`{"kind":"ClusterServiceVersion","spec":{"description":"about %s <b>","icon":[{"base64data":"aGk=","mediatype":"image/png"}]}}`, version)
	name := pkg + ".v" + version
	raw := fmt.Sprintf(`{"schema":"olm.bundle","name":%q,"package":%q,"image":%q,"properties":[`+
		`{"type":"olm.package","value":{"packageName":%q,"version":%q}},{"type":"olm.bundle.object","value":{"data":%q}}]}`,
		name, pkg, image, pkg, version, base64.StdEncoding.EncodeToString([]byte(csv)))
	return &catalog.Meta{Schema: catalog.SchemaBundle, Package: pkg, Name: name, Raw: []byte(raw)}, nil
}

// rendered renders a template and returns its package, channels and the number of its bundles as lines.
func rendered(t *testing.T, text string) []string {
	t.Helper()
	tmpl, err := Read("t.yaml", strings.NewReader(text))
	fail.On(t, err)
	metas, err := tmpl.Render(t.Context(), bundleOfTag)
	fail.On(t, err)
	c, err := catalog.New(metas)
	if err == nil {
		err = validate.Catalog(c)
	}
	fail.On(t, err)
	var lines []string
	for _, m := range metas {
		if m.Schema != catalog.SchemaBundle {
			lines = append(lines, string(m.Raw))
		}
		if m.File != "" || m.Line != 0 {
			t.Errorf("%s has a position in the template", m.Name)
		}
	}
	for _, p := range c.Packages {
		lines = append(lines, elements.Map(p.Bundles, func(b *catalog.Bundle) string { return b.Name + " " + b.Image })...)
	}
	return lines
}

// images lists the bundles of package a with versions.
func images(versions string) string {
	var b strings.Builder
	b.WriteString("  bundles:\n")
	for v := range strings.FieldsSeq(versions) {
		fmt.Fprintf(&b, "  - image: r.example.com/a:%s\n", v)
	}
	return b.String()
}

// channel returns the channels of a rendered template in a short form: "name: a a.v1 b(<replaces skips...)".
func channelsOf(t *testing.T, lines []string) (channels []string, preferred string) {
	t.Helper()
	for _, line := range lines {
		var c channel
		if !strings.HasPrefix(line, "{") {
			continue
		}
		fail.On(t, unmarshal([]byte(line), &c, false))
		if c.Schema == catalog.SchemaPackage {
			var p packageText
			fail.On(t, unmarshal([]byte(line), &p, false))
			preferred = p.DefaultChannel
			continue
		}
		text := c.Name + ":"
		for _, e := range c.Entries {
			text += " " + strings.TrimPrefix(e.Name, "a.v")
			if e.Replaces != "" || e.Skips != nil {
				text += "(" + strings.ReplaceAll(e.Replaces+" -"+strings.Join(e.Skips, " -"), "a.v", "") + ")"
			}
		}
		channels = append(channels, text)
	}
	return channels, preferred
}

// TestSemver compares channels and edges with those that opm makes of the same versions.
func TestSemver(t *testing.T) {
	t.Parallel()
	const versions = "2.3.2 0.1.0 0.1.1 1.1.0 1.2.1 1.3.1 2.1.0 1.3.1-beta 2.1.1 2.3.1 1.3.1-alpha 1.4.1"
	majors := []string{
		"stable-v0: 0.1.0 0.1.1( -0.1.0)",
		"stable-v1: 1.1.0 1.2.1(1.1.0 -) 1.3.1-alpha 1.3.1-beta 1.3.1(1.2.1 -1.1.0 -1.3.1-alpha -1.3.1-beta)" +
			" 1.4.1(1.3.1 -1.1.0 -1.2.1 -1.3.1-alpha -1.3.1-beta)",
		"stable-v2: 2.1.0 2.1.1( -2.1.0) 2.3.1 2.3.2(2.1.1 -2.1.0 -2.3.1)",
	}
	minors := []string{
		"stable-v0.1: 0.1.0 0.1.1( -0.1.0)",
		"stable-v1.1: 1.1.0",
		"stable-v1.2: 1.2.1(1.1.0 -)",
		"stable-v1.3: 1.3.1-alpha 1.3.1-beta 1.3.1(1.2.1 -1.1.0 -1.3.1-alpha -1.3.1-beta)",
		"stable-v1.4: 1.4.1(1.3.1 -1.1.0 -1.2.1 -1.3.1-alpha -1.3.1-beta)",
		"stable-v2.1: 2.1.0 2.1.1( -2.1.0)",
		"stable-v2.3: 2.3.1 2.3.2(2.1.1 -2.1.0 -2.3.1)",
	}
	both := []string{majors[0], minors[0], majors[1], minors[1], minors[2], minors[3], minors[4], majors[2], minors[5], minors[6]}
	for _, tc := range []struct {
		name, options, lists string
		want                 []string
		preferred            string
	}{
		{"minor by default", "", "stable:\n" + images(versions), minors, "stable-v2.3"},
		{"major", "generateMajorChannels: true\n", "stable:\n" + images(versions), majors, "stable-v2"},
		{"both", "GenerateMajorChannels: true\nGenerateMinorChannels: true\n", "Stable:\n" + images(versions), both, "stable-v2.3"},
		{"prefers the major", "generateMajorChannels: true\ngenerateMinorChannels: true\ndefaultChannelTypePreference: major\n", "stable:\n" + images("1.0.0"),
			[]string{"stable-v1: 1.0.0", "stable-v1.0: 1.0.0"}, "stable-v1"},
		{"maturities", "generateMajorChannels: true\n", "candidate:\n" + images("1.0.0 2.0.0 2.0.1") + "fast:\n" + images("1.0.0") + "stable: {}\n",
			[]string{"candidate-v1: 1.0.0", "candidate-v2: 2.0.0 2.0.1( -2.0.0)", "fast-v1: 1.0.0"}, "fast-v1"},
		{"before the first release", "", "candidate:\n" + images("0.0.0-alpha"), []string{"candidate-v0.0: 0.0.0-alpha"}, "candidate-v0.0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			lines := rendered(t, "Schema: olm.semver\n"+tc.options+tc.lists)
			got, preferred := channelsOf(t, lines)
			fail.Diff(t, tc.want, got)
			fail.Diff(t, tc.preferred, preferred)
		})
	}

	got := rendered(t, "schema: olm.semver\nstable:\n"+images("1.0.1 1.0.0"))
	want := []string{
		`{"schema":"olm.package","name":"a","defaultChannel":"stable-v1.0","icon":{"base64data":"aGk=","mediatype":"image/png"},"description":"about 1.0.1 <b>"}`,
		`{"schema":"olm.channel","name":"stable-v1.0","package":"a","entries":[{"name":"a.v1.0.0"},{"name":"a.v1.0.1","skips":["a.v1.0.0"]}]}`,
		"a.v1.0.0 r.example.com/a:1.0.0", "a.v1.0.1 r.example.com/a:1.0.1",
	}
	fail.Diff(t, want, got)
}

func TestBasic(t *testing.T) {
	t.Parallel()
	got := rendered(t, `schema: olm.template.basic
entries:
- schema: olm.bundle
  image: r.example.com/a:1.1.0
- {schema: olm.channel, package: a, name: stable, entries: [{name: a.v1.1.0, replaces: a.v1.0.0, odd: 12345678901234567890}]}
- {schema: olm.package, name: a, defaultChannel: stable}
- {schema: example.com/note, text: kept}
`)
	want := []string{
		`{"schema":"olm.package","name":"a","defaultChannel":"stable"}`,
		`{"schema":"olm.channel","package":"a","name":"stable","entries":[{"name":"a.v1.1.0","replaces":"a.v1.0.0","odd":12345678901234567890}]}`,
		`{"schema":"example.com/note","text":"kept"}`,
		"a.v1.1.0 r.example.com/a:1.1.0",
	}
	fail.Diff(t, want, got)
}

// TestRefused has templates that are refused when they are read or rendered.
func TestRefused(t *testing.T) {
	t.Parallel()
	const basic, stable = "schema: olm.template.basic\n", "schema: olm.semver\nstable:\n"
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "0 objects"},
		{"not an object", "- a\n", "t.yaml:1"},
		{"two objects", basic + "entries: [{schema: x}]\n---\n" + basic, "2 objects"},
		{"a catalog", "schema: olm.package\nname: a\n", `schema "olm.package" is not a template; the templates are olm.template.basic, olm.template.substitutes, olm.semver`},
		{"misspelled", "schema: olm.templat.basic\n", `did you mean "olm.template.basic"`},
		{"the name of the documentation", "schema: olm.template.semver\n", `opm calls it "olm.semver"`},
		{"another template", "schema: olm.template.somethingelse\n", "not supported"},
		{"the catalogs of a composite", "schema: olm.composite.catalogs\n", "lists the catalogs of a composite template"},
		{"no entries", basic, "entries is empty"},
		{"a text as entry", basic + "entries: [text]\n", "entries[0]"},
		{"an entry without schema", basic + "entries: [{name: x}]\n", "entries[0]"},
		{"a bundle without image", basic + "entries: [{schema: olm.bundle, name: x}]\n", "has no image"},
		{"a rendered bundle", basic + "entries: [{schema: olm.bundle, image: r.example.com/a:1.0.0, package: a}]\n", "has more than an image"},
		{"an image that is no reference", basic + "entries: [{schema: olm.bundle, image: 'A B'}]\n", "A B"},
		{"a path as image", basic + "entries: [{schema: olm.bundle, image: 'dir:///etc'}]\n", "dir:///etc"},
		{"unknown field", "schema: olm.semver\nstabel:\n" + images("1.0.0"), `unknown field "stabel"`},
		{"no bundles", "schema: olm.semver\nfast: {}\n", "no bundles are listed"},
		{"no image", "schema: olm.semver\nfast: {bundles: [{}]}\n", "fast.bundles[0] has no image"},
		{"an odd preference", "schema: olm.semver\ndefaultChannelTypePreference: patch\n", "must be major or minor"},
		{"preference without channels", "schema: olm.semver\ndefaultChannelTypePreference: major\n", "generateMajorChannels is not set"},
		{"preference without minor channels", "schema: olm.semver\ngenerateMajorChannels: true\ndefaultChannelTypePreference: minor\n", "generateMinorChannels is not set"},
		{"listed twice", stable + images("1.0.0 1.0.0"), "lists bundle a.v1.0.0 twice"},
		{"without order", stable + images("1.0.0-a 1.0.0-b") + "  - image: r.example.com/b:1.0.0\n", "belongs to package b"},
		{"not a version", stable + images("latest"), "latest"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tmpl, err := Read("t.yaml", strings.NewReader(tc.text))
			if err == nil {
				_, err = tmpl.Render(t.Context(), bundleOfTag)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}

	build := func(ctx context.Context, image string) (*catalog.Meta, error) {
		return bundleOfTag(ctx, strings.ReplaceAll(image, "_", "+"))
	}
	tmpl, err := Read("t.yaml", strings.NewReader(stable+images("1.0.0_1 1.0.0_2")))
	if err == nil {
		_, err = tmpl.Render(t.Context(), build)
	}
	if err == nil || !strings.Contains(err.Error(), "versions that differ only after + have no order") {
		t.Errorf("got %v", err)
	}
	if _, err := Read("t.yaml", io.MultiReader(strings.NewReader(basic), zeros{})); err == nil {
		t.Error("an endless template is accepted")
	}
	failed := errors.New("no such image")
	tmpl, err = Read("t.yaml", strings.NewReader(stable+images("1.0.0")))
	if err == nil {
		_, err = tmpl.Render(t.Context(), func(context.Context, string) (*catalog.Meta, error) { return nil, failed })
	}
	fail.Diff(t, failed, err, cmpopts.EquateErrors())
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

const catalogsText = `schema: olm.composite.catalogs
catalogs:
- name: v4.20
  destination: {workingDir: catalogs/v4.20}
  builders: [olm.builder.raw, olm.builder.basic, olm.builder.semver]
- name: v4.21
  destination: {workingDir: catalogs/v4.21}
  builders: [olm.builder.semver, olm.builder.custom]
`

// componentOf returns a composite template with one component.
func componentOf(name, builder, config string) string {
	return fmt.Sprintf("schema: olm.composite\ncomponents:\n- name: %s\n  destination: {path: a}\n  strategy: {name: s, template: {schema: %s, config: %s}}\n", name, builder, config)
}

func TestComposite(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"s.yaml":   "schema: olm.semver\nstable:\n" + images("1.0.0"),
		"b.yaml":   "schema: olm.template.basic\nentries: [{schema: olm.package, name: a, defaultChannel: x}]\n",
		"raw.json": `{"schema":"olm.channel","package":"a","name":"x","entries":[]}{"schema":"olm.package","name":"a","defaultChannel":"x"}`,
	}
	open := func(name string) (io.ReadCloser, error) {
		if text, ok := files[name]; ok {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		return nil, fs.ErrNotExist
	}
	for _, tc := range []struct{ name, contents, want string }{
		{"semver", componentOf("v4.20", builderSemver, "{input: s.yaml, output: c.yaml}"), "catalogs/v4.20/a/c.yaml: olm.package a, olm.channel stable-v1.0, olm.bundle a.v1.0.0"},
		{"basic", componentOf("v4.20", builderBasic, "{input: b.yaml, output: c.yaml}"), "catalogs/v4.20/a/c.yaml: olm.package a"},
		{"raw", componentOf("v4.20", builderRaw, "{input: raw.json, output: c.json}"), "catalogs/v4.20/a/c.json: olm.package a, olm.channel x"},
		{"another template", componentOf("v4.20", builderBasic, "{input: s.yaml, output: c.yaml}"), `error: builder olm.builder.basic needs "olm.template.basic"`},
		{"missing input", componentOf("v4.20", builderBasic, "{input: x.yaml, output: c.yaml}"), "error: making catalogs/v4.20/a/c.yaml for catalog v4.20"},
		{"no input", componentOf("v4.20", builderBasic, "{output: c.yaml}"), "error: config.input is missing"},
		{"no output", componentOf("v4.20", builderBasic, "{input: b.yaml}"), "error: config.output is missing"},
		{"unknown option", componentOf("v4.20", builderBasic, "{inptu: b.yaml, output: c}"), `error: unknown field "inptu"`},
		{"custom", componentOf("v4.21", builderCustom, "{command: rm, args: [-rf], output: c}"), "error: runs a command, which Gantry does not"},
		{"not allowed", componentOf("v4.21", builderRaw, "{input: raw.json, output: c}"), "error: does not allow builder olm.builder.raw, only olm.builder.semver, olm.builder.custom"},
		{"unknown catalog", componentOf("v4.22", builderRaw, "{input: raw.json, output: c}"), "error: did you mean \"v4.20\""},
		{"unknown builder", componentOf("v4.20", "olm.builder.rwa", "{input: raw.json, output: c}"), "error: did you mean \"olm.builder.raw\""},
		{"outside", componentOf("v4.20", builderRaw, "{input: raw.json, output: ../../c}"), "error: leads out of the folder"},
		{"absolute", componentOf("v4.20", builderRaw, "{input: raw.json, output: /etc/passwd}"), "error: leads out of the folder"},
		{"no components", "schema: olm.composite\n", "error: 0 components"},
		{"not a composite", "schema: olm.semver\n", "error: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			c, err := ReadComposite("composite.yaml", strings.NewReader(tc.contents), "catalogs.yaml", strings.NewReader(catalogsText))
			if err == nil {
				var metas []*catalog.Meta
				metas, err = c.Components[0].Render(t.Context(), open, bundleOfTag)
				for _, m := range metas {
					got += ", " + m.Schema + " " + m.Name
				}
				got = c.Components[0].Path + ": " + strings.TrimPrefix(got, ", ")
			}
			want, fails := strings.CutPrefix(tc.want, "error: ")
			if fails != (err != nil) || fails && !strings.Contains(err.Error(), want) || !fails && got != want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	for _, text := range []string{
		"schema: olm.composite\n", "schema: olm.composite.catalogs\ncatalogs: [{destination: {workingDir: x}}]\n",
		"schema: olm.composite.catalogs\ncatalogs: [{name: x}]\n",
		"schema: olm.composite.catalogs\ncatalogs: [{name: x, destination: {workingDir: x}}, {name: x, destination: {workingDir: y}}]\n",
	} {
		_, err := ReadComposite("composite.yaml", strings.NewReader(componentOf("x", builderRaw, "{input: a, output: b}")), "catalogs.yaml", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), "catalogs.yaml") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// FuzzRead checks that every accepted template is rendered to the same objects twice, or refused.
func FuzzRead(f *testing.F) {
	f.Add("schema: olm.semver\nstable:\n" + images("1.0.0 1.0.1 1.1.0"))
	f.Add("schema: olm.template.basic\nentries: [{schema: olm.package, name: a, defaultChannel: x}, {schema: olm.bundle, image: 'r.example.com/a:1.0.0'}]\n")
	f.Add(componentOf("v4.20", builderRaw, "{input: raw.json, output: c.json}"))
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := Read("t", strings.NewReader(text))
		if err != nil {
			return
		}
		schema, err := SchemaOf(strings.NewReader(text))
		if err != nil || schema != tmpl.Schema || !IsTemplate(schema) {
			t.Fatalf("schema %q, %v, want %q", schema, err, tmpl.Schema)
		}
		var texts []string
		for range 2 {
			metas, err := tmpl.Render(t.Context(), bundleOfTag)
			text := fmt.Sprint(err != nil)
			for _, m := range metas {
				text += "\n" + string(m.Raw)
			}
			texts = append(texts, text)
		}
		if texts[0] != texts[1] {
			t.Error(cmp.Diff(texts[0], texts[1]))
		}
	})
}
