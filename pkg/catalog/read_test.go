package catalog_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func quirks(t testing.TB, options catalog.Options) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Read(t.Context(), os.DirFS("testdata/quirks"), options)
	fail.On(t, err)
	return c
}

func TestRead(t *testing.T) {
	c := quirks(t, catalog.Options{})
	sameWhenWritten(t, c)

	fail.Diff(t, []string{"crane"}, c.Names)
	if len(c.Others) != 1 || c.Others[0].Name != "everybody" || c.Others[0].File != "global.yaml" || c.Others[0].Line != 1 {
		t.Errorf("got others %+v", c.Others)
	}
	text := `{"schema":"io.example.notice","name":"everybody","text":"Text may hold what looks like the end of a document:\n---\nand goes on.\n"}`
	fail.Diff(t, text, string(c.Others[0].Raw))

	p := c.Package("crane")
	if p.DefaultChannel != "4.10" || len(p.Metas) != 1 || p.Metas[0].Line != 2 {
		t.Errorf("got package %+v", p)
	}
	wantEntries := []catalog.Entry{
		{Name: "crane.v1.2.0-3", Replaces: "crane.v1.1.0", Skips: []string{"crane.v1.0.0", "crane.v1.1.1"}, SkipRange: "<1.2.0-3"},
		{Name: "crane.v1.1.1"},
		{Name: "crane.v1.1.0", Replaces: "hoist.v0.9.0"},
	}
	fail.Diff(t, wantEntries, p.Channel("4.10").Entries)
	wantDeprecations := []catalog.Deprecation{
		{Schema: "olm.channel", Name: "4.10", Message: "Use another.\n"},
		{Schema: "olm.package", Message: "gone soon"},
	}
	fail.Diff(t, wantDeprecations, p.Deprecations[0].Entries)
	fail.Diff(t, 7, p.Deprecations[0].Meta.Line)

	versions := elements.Map(p.Bundles, func(b *catalog.Bundle) string { return b.Name + " " + b.Version.String() })
	fail.Diff(t, []string{"crane.v1.1.0 1.1.0", "crane.v1.1.1 1.1.1+0.1749", "crane.v1.2.0-3 1.2.0-3"}, versions)
	fail.Diff(t, 12, p.Bundle("crane.v1.1.0").Meta.Line)
	wantImages := []catalog.RelatedImage{
		{Image: "registry.example.com/crane/manager:v1@sha256:0000000000000000000000000000000000000000000000000000000000000001"},
		{Name: "typo"},
		{},
	}
	head := p.Bundle("crane.v1.2.0-3")
	fail.Diff(t, wantImages, head.RelatedImages)
	fail.Diff(t, "9007199254740993", string(head.Properties[2].Value))
	scalars := `{"true":true,"hex":16,"big":123456789012345678901234567890,"date":"2026-01-02","float":1.5,"none":null}`
	fail.Diff(t, scalars, string(p.Bundle("crane.v1.1.1").Properties[2].Value))

	// A file that a negated pattern re-includes, with its bytes.
	original, err := os.ReadFile("testdata/quirks/notes/lifecycle.json")
	fail.On(t, err)
	if len(p.Others) != 1 || string(p.Others[0].Raw)+"\n" != string(original) {
		t.Errorf("got others %+v", p.Others)
	}
}

func TestReadKeep(t *testing.T) {
	c := quirks(t, catalog.Options{Keep: func(pkg string) bool { return pkg == "derrick" }})
	if len(c.Packages) != 0 || len(c.Others) != 1 {
		t.Errorf("got %d packages and %d others", len(c.Packages), len(c.Others))
	}
	fail.Diff(t, []string{"crane"}, c.Names)
}

func TestReaderOrderAndReplacing(t *testing.T) {
	r := catalog.NewReader(catalog.Options{})
	for _, f := range []struct{ name, text string }{
		{"b.json", `{"schema": "a", "name": "second"}`},
		{"a/x.json", "an old layer's file"},
		{"a/x.json", `{"schema": "a", "name": "first"}`},
		{"c.md", "[broken"},
		{"a/.indexignore", "/b.json\n"},
		{".indexignore", "*.md\r\n"},
	} {
		fail.On(t, r.File(f.name, iotest.OneByteReader(strings.NewReader(f.text))))
	}
	c, err := r.Catalog()
	fail.On(t, err)
	want := []object{{Schema: "a", Name: "first", Raw: `{"schema": "a", "name": "first"}`}, {Schema: "a", Name: "second", Raw: `{"schema": "a", "name": "second"}`}}
	fail.Diff(t, want, objects(c))
}

func TestReadProblems(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // file:line and the beginning of the message
	}{
		{"no schema", "{\"schema\": \"a\"}\n{\n}", "f:2: the object has no schema"},
		{"plain text", "# Read me\n\nThis is a text.\n", "f:3: not a JSON or YAML object"},
		{"broken JSON", "{\"schema\": \"a\"}\n\n{\"schema\":\n \"a\",,}", "f:4: invalid JSON"},
		{"unfinished JSON", "{\"schema\": [\n", "f:2: invalid JSON: unexpected EOF"},
		{"text after JSON", "{\"schema\": \"a\"}\nabc", "f:2: not a JSON or YAML object"},
		{"broken YAML", "schema: a\n---\nschema: a\n\tb: c\n", "f:4: invalid YAML: found a tab character that violates indentation; YAML is indented with spaces; fix the file"},
		{"tab in a list", "schema: a\nx:\n\t- b\n", "f:3: invalid YAML: found character that cannot start any token; YAML is indented with spaces; fix the file"},
		{"empty documents", "---\n---\nschema: a\n", "f:1: the YAML document is empty"},
		{"comment only", "# header\n---\nschema: a\n", "f:1: the YAML document is empty"},
		{"blank file", "\n\n\n", "f:1: the file has only white space; delete it"},
		{"blanks", " ", "f:1: the file has only white space"},
		{"blank lines of Windows", "\r\n\r\n", "f:1: the file has only white space"},
		{"blank document first", "\n---\nschema: a\n", "f:1: the YAML document is empty"},
		{"blank document at the end", "{\"schema\": \"a\"}\n---\n", "f:2: the YAML document is empty"},
		{"two separators after JSON", "{\"schema\": \"a\"}\n---\n---\nschema: b\n", "f:2: the YAML document is empty"},
		{"mark alone", "\ufeff", "f:1: the YAML document is empty"},
		{"mark before JSON", "\ufeff{\"schema\": \"a\"}\n{\"schema\": \"b\"}\n", "f:1: the file begins with a byte order mark, so that OLM reads only its first JSON object"},
		{"mark after blanks", "\n\ufeff{\"schema\": \"a\"}\n", "f:1: invalid YAML"},
		{"two JSON objects in a document", "---\n{\"schema\": \"a\"}\n{\"schema\": \"b\"}\n", "f:1: text after the end of the YAML document"},
		{"two JSON objects after a comment", "# c\n{\"schema\": \"a\"}\n{\"schema\": \"b\"}\n", "f:1: text after the end of the YAML document"},
		{"separator after two JSON objects", "{\"schema\": \"a\"}\n{\"schema\": \"b\"}\n---\n{\"schema\": \"c\"}\n", "f:3: after two JSON objects OLM expects only JSON objects"},
		{"text after a separator", "schema: a\n--- {schema: b}\n", "f:2: a line that begins with --- may contain only a comment"},
		{"indented separator", " ---\n{\"schema\": \"a\"}\n", "f:2: invalid YAML"},
		{"slash with a backslash in a document", "---\n{\"schema\": \"a\", \"x\": \"\\/\"}\n", "f:2: invalid YAML: found unknown escape character"},
		{"surrogates in a document", "---\n{\"schema\": \"a\", \"x\": \"\\ud83d\\ude00\"}\n", "f:2: invalid YAML: found invalid Unicode character escape code"},
		{"document after its end", "schema: a\n...\nschema: b\n", "f:1: text after the end of the YAML document"},
		{"member twice in YAML", "schema: a\nx:\n  b: 1\n  b: 2\n", `f:4: duplicate member "b"`},
		{"member twice in JSON", `{"schema": "a", "schema": "b"}`, `f:1: "schema" and "schema" name the same member`},
		{"member in two cases", `{"schema": "a", "Schema": "b"}`, `f:1: "schema" and "Schema" name the same member`},
		{"name is a number", "schema: a\nname: 4.10\n", `f:1: "name" must be a string, not 4.1; put it in quotes`},
		{"name is null", `{"schema": "a", "name": null}`, `f:1: "name" must be a string, not null`},
		{"not a number", "schema: a\nx: .nan\n", "f:2: .nan cannot be written as JSON"},
		{"list as a key", "schema: a\n? [x]\n: y\n", "f:2: a member's name must be text"},
		{"alias bomb", "schema: a\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n" + bomb(9), "larger than"},
		{"alias to itself", "schema: a\nx: &x [*x]\n", "levels deep"},
		{"entries", `{"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "a"}, {"name": "b", "skips": [1]}]}`,
			"f:1: olm.channel c of package p: entries[1].skips[0]: must be a string, not 1"},
		{"icon", `{"schema": "olm.package", "name": "p", "icon": {"base64data": 1}}`, "f:1: olm.package p: icon.base64data: must be a string, not 1"},
		{"invalid icon", `{"schema": "olm.package", "name": "p", "icon": {"base64data": "<svg/>"}}`, "f:1: olm.package p: icon.base64data: not valid base64"},
		{"properties of a package", `{"schema": "olm.package", "name": "p", "properties": {"owner": "us"}}`, "f:1: olm.package p: properties: not a list"},
		{"properties of a channel", `{"schema": "olm.channel", "package": "p", "name": "c", "properties": [{"type": 1}]}`, "f:1: olm.channel c of package p: properties[0].type: must be a string, not 1"},
		{"properties", `{"schema": "olm.bundle", "package": "p", "name": "b", "properties": {}}`, "f:1: olm.bundle b of package p: properties: not a list"},
		{"long object", `{"schema": "a", "x": "` + strings.Repeat("x", 17<<20) + `"}`, "f:1: the object is larger than 16 MiB"},
		{"long document", "schema: a\nx: " + strings.Repeat("x", 17<<20), "f:1: the object is larger than 16 MiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(test.text)}}, catalog.Options{})
			if _, ok := errors.AsType[*catalog.Error](err); !ok {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// bomb is YAML that grows tenfold with each line.
func bomb(lines int) string {
	var text strings.Builder
	for i := range lines {
		n := string(rune('0' + i))
		next := string(rune('1' + i))
		text.WriteString("x" + next + ": &x" + next + " [" + strings.Repeat("*x"+n+", ", 9) + "*x" + n + "]\n")
	}
	return text.String()
}

func TestReadSeveralProblems(t *testing.T) {
	fsys := fstest.MapFS{
		"b.json": {Data: []byte("{}\n{\"schema\": 1}\n")},
		"a.yaml": {Data: []byte("x: y\n")},
	}
	_, err := catalog.Read(t.Context(), fsys, catalog.Options{})
	var found *catalog.Error
	if !errors.As(err, &found) {
		t.Fatalf("got %v", err)
	}
	var places []string
	for _, p := range found.Problems {
		place, _, _ := strings.Cut(p.String(), ": ")
		places = append(places, place)
	}
	fail.Diff(t, []string{"a.yaml:1", "b.json:1", "b.json:2"}, places)
	if !strings.HasPrefix(err.Error(), "3 problems in the catalog:\n  a.yaml:1: ") {
		t.Errorf("got %v", err)
	}
}

// TestReadAsOLM reads unusual texts that OLM accepts, too.
func TestReadAsOLM(t *testing.T) {
	for text, want := range map[string]int{
		"":                                    0,
		"\n\n{\"schema\": \"a\"}\n\n":         1,
		"\n# c\nschema: a\n":                  1,
		"\ufeff{\"schema\": \"a\"}\n":         1,
		"\ufeffschema: a\n---\nschema: b\n":   2,
		"\ufeff---\nschema: a\n":              1,
		"{\"schema\": \"a\"}\nschema: b\n":    2,
		"{\"schema\": \"a\"}\n---\nschema: b": 2,
		"{\"schema\": \"a\"}{\"schema\": \"b\"}\n\n{\"schema\": \"c\", \"x\": \"\\/\\ud83d\\ude00\"}": 3,
		"schema: a\n---\n---\nschema: b\n": 2,
		"schema: a\n---":                   1,
	} {
		c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(text)}}, catalog.Options{})
		if err != nil || len(c.Others) != want {
			t.Errorf("%q: got %v, %v, want %d objects", text, c, err, want)
		}
	}
}

func TestReadMixedStream(t *testing.T) {
	text := "{\"schema\": \"a\", \"n\": 1.0}\n---\n# one\n{\"schema\": \"c\"}\n# end\n---\n{schema: d}\n--- # next\nschema: e\n---\n"
	c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(text)}}, catalog.Options{})
	fail.On(t, err)
	got := elements.Map(c.Others, func(m *catalog.Meta) string { return string(m.Raw) + " " + string(rune('0'+m.Line)) })
	want := []string{`{"schema": "a", "n": 1.0} 1`, `{"schema": "c"} 4`, `{"schema":"d"} 7`, `{"schema":"e"} 9`}
	fail.Diff(t, want, got)
}

func TestReadLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.json")
	dir := t.TempDir()
	for _, err := range []error{
		os.WriteFile(outside, []byte(`{"schema": "a"}`), 0o600),
		os.Mkdir(filepath.Join(dir, "real"), 0o700),
		os.WriteFile(filepath.Join(dir, "real", "x.json"), []byte(`{"schema": "a"}`), 0o600),
		os.Symlink("real/x.json", filepath.Join(dir, "link.json")),
		os.Symlink("../link.json", filepath.Join(dir, "real", "again.json")),
	} {
		fail.On(t, err)
	}
	c, err := catalog.Read(t.Context(), os.DirFS(dir), catalog.Options{})
	fail.On(t, err)
	fail.Diff(t, 3, len(c.Others))

	for name, target := range map[string]string{
		"absolute":  outside,
		"relative":  "../" + filepath.Base(filepath.Dir(outside)) + "/outside.json",
		"itself":    "itself",
		"to folder": "real",
		"to naught": "naught.json",
	} {
		t.Run(name, func(t *testing.T) {
			link := filepath.Join(dir, name)
			fail.On(t, os.Symlink(target, link))
			if _, err := catalog.Read(t.Context(), os.DirFS(dir), catalog.Options{}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v", err)
			}
			fail.On(t, os.Remove(link))
		})
	}
}

func TestReadStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := catalog.Read(ctx, os.DirFS("testdata/quirks"), catalog.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := catalog.Read(t.Context(), fstest.MapFS{}, catalog.Options{}); err == nil {
		t.Error("an empty folder was accepted")
	}
	broken := io.MultiReader(strings.NewReader(`{"schema":`), iotest.ErrReader(io.ErrClosedPipe))
	fail.Diff(t, io.ErrClosedPipe, catalog.NewReader(catalog.Options{}).File("x", broken), cmpopts.EquateErrors())
}
