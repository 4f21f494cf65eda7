package imageset_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// FuzzParse checks that errors and warnings have positions in the file, and that accepted
// configurations are written, accepted by the JSON Schema, and read back equal, and converted to
// files that are read as the same without warnings.
func FuzzParse(f *testing.F) {
	for _, glob := range []string{"testdata/good/*.txtar", "testdata/warned/*.txtar", "testdata/bad/*.txtar"} {
		for name, text := range cases(f, glob) {
			if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".json") {
				f.Add(text)
			}
		}
	}
	f.Add([]byte(everything))
	f.Add([]byte(byPlatforms))
	schema := parseSchema(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := imageset.Parse("f", text)
		if err != nil {
			checkProblems(t, text, err)
			return
		}
		if len(c.Warnings) > 0 {
			checkProblems(t, text, &imageset.Error{Problems: c.Warnings})
		}
		checkConversion(t, text, c)
		written, err := json.Marshal(c)
		fail.On(t, err)
		again, err := imageset.Parse("f", written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if diff := cmp.Diff(c, again, patterns, noPositions, noWarnings); diff != "" {
			t.Errorf("%s (-first +again):\n%s", written, diff)
		}
		if c.Usable() != nil {
			return // the schema does not describe what cannot be used
		}
		var value any
		if err := json.Unmarshal(written, &value); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if err := schema.check("", value); err != nil {
			t.Errorf("the JSON Schema refuses %s: %v", written, err)
		}
	})
}

func FuzzParseOperator(f *testing.F) {
	f.Add([]byte(`{"catalog":"oci:///a","packages":[{"name":"b","minVersion":"1.0.0"}]}`))
	f.Add([]byte("a\r\rb"))
	f.Add([]byte("full: !!int \"a\\nb\"\ncatalog: {a: *\x01}"))
	f.Add([]byte(`{"catalog":"quay.io/a/b:c","full":true,"platforms":[{"os":"linux","architecture":"amd64"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := imageset.ParseOperator(text)
		if err != nil {
			checkProblems(t, text, err)
			return
		}
		written, err := json.Marshal(o)
		fail.On(t, err)
		again, err := imageset.ParseOperator(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if diff := cmp.Diff(o, again, noPositions); diff != "" {
			t.Errorf("%s (-first +again):\n%s", written, diff)
		}
	})
}

func checkProblems(t *testing.T, text []byte, err error) {
	t.Helper()
	var problems *imageset.Error
	if !errors.As(err, &problems) || len(problems.Problems) == 0 {
		t.Fatalf("not an *Error with problems: %v", err)
	}
	last, lines := 0, len(text)+1
	if !bytes.HasPrefix(text, []byte("\xfe\xff")) && !bytes.HasPrefix(text, []byte("\xff\xfe")) { // not UTF-16
		// These end lines in YAML.
		lines = 1
		for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
			lines += bytes.Count(text, []byte(end))
		}
	}
	for _, p := range problems.Problems {
		if p.Pos.Line < last || p.Pos.Line < 1 || p.Pos.Line > lines {
			t.Errorf("a problem of line %d follows one of line %d, in %d lines: %s", p.Pos.Line, last, lines, p)
		}
		if p.Message == "" || strings.ContainsAny(p.String(), "\n\r") {
			t.Errorf("not a line: %q", p.String())
		}
		last = p.Pos.Line
	}
}
