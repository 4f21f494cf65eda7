package catalog_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzRead checks that a catalog is read again after writing, byte for byte, and that it can be
// streamed and outlined.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/quirks/*.*", "testdata/quirks/*/*.*", "testdata/quirks/*/*/*.*"} {
		names, err := filepath.Glob(pattern)
		fail.On(f, err)
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil {
				f.Add(text)
			}
		}
	}
	f.Add([]byte("{\"schema\": \"a\"}\n---\n{\"schema\": \"b\"}\n# end\n---\n{schema: d}\n"))
	f.Add([]byte("a: &a {schema: x}\n<<: *a\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: text}}, catalog.Options{})
		if err != nil {
			return
		}
		streamed := 0
		if err := catalog.Stream(t.Context(), fstest.MapFS{"f": {Data: text}}, func(*catalog.Meta) error { streamed++; return nil }); err != nil || streamed != len(objects(c)) {
			t.Errorf("streamed %d objects and %v, want %d", streamed, err, len(objects(c)))
		}
		if o, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: text}}, catalog.Options{Keep: func(string) bool { return false }, Outline: true}); err != nil || len(o.Outlines) > len(c.Packages) {
			t.Errorf("outlined %v: %v", o, err)
		}
		files, err := catalog.Files(c)
		if err != nil || len(files) == 0 {
			return // a name that is not a path, or nothing to write
		}
		sameWhenWritten(t, c)
	})
}

// FuzzYAML checks that a YAML document has the same value as in OLM, which reads it with
// sigs.k8s.io/yaml.
func FuzzYAML(f *testing.F) {
	for _, scalar := range []string{
		"yes", "No", "~", "''", "0x1F", "0o17", "017", "08", "1_000", "-0b11", "+12", "1e3", "-.5", ".5e1", "1.", "-0", "-0.0",
		"2026-01-02", "2026-01-02T03:04:05Z", "1:30", "!!str 5", "!!int '5'", "!!float 5", "!!binary aGk=", "!foo bar", "=", "<<",
		"|\n    a\n     b\n", ">-\n    a\n    b\n\n    c", "\"a\\u00e9\\n\"", "{yes: 1, 1: 2, 1.5: 3, a: [b, ~]}", "&a [*a]",
		"18446744073709551615", "9223372036854775808", "0x8000000000000000",
	} {
		f.Add("schema: a\nx: " + scalar + "\n")
	}
	f.Add("schema: a\nb: &b {x: 1, y: 2}\nc: {y: 3, <<: *b, x: 4}\nd: {<<: [*b, {x: 9, z: 1}]}\n")
	nonSpecific := regexp.MustCompile(`![^!\w]|!$`)
	f.Fuzz(func(t *testing.T, text string) {
		if nonSpecific.MatchString(text) {
			return // the parser hides the tag "!"
		}
		c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: []byte(text)}}, catalog.Options{})
		if err != nil || len(c.Packages) > 0 || len(c.Others) != 1 || strings.HasPrefix(strings.TrimSpace(text), "{") {
			return
		}
		oracle, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return // accepted here but not there: the parsers reject different texts
		}
		var got, want any
		if err := json.Unmarshal(c.Others[0].Raw, &got); err != nil {
			t.Fatalf("%q: %v", c.Others[0].Raw, err)
		}
		fail.On(t, json.Unmarshal(oracle, &want))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %s, want %s", text, c.Others[0].Raw, oracle)
		}
	})
}
