package imageset_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// A schema is a JSON Schema validator for the keywords that the format's schema uses.
type schema struct {
	Schema               string `json:"$schema"`
	Title, Description   string
	Type                 []string
	Enum, Examples       []any
	Pattern              string
	MaxLength            int
	Minimum, Maximum     float64
	Properties           map[string]schema
	Required             []string
	AdditionalProperties *bool
	Items                *schema
}

func parseSchema(t testing.TB) schema {
	t.Helper()
	return parseSchemaText(t, imageset.Schema())
}

func parseSchemaText(t testing.TB, text []byte) schema {
	t.Helper()
	var s schema
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	fail.On(t, d.Decode(&s))
	return s
}

func (s schema) check(path string, value any) error {
	if s.Type != nil && !slices.Contains(s.Type, typeOf(value)) {
		return fmt.Errorf("%s: %v is not of type %s", path, value, s.Type)
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, value) }) {
		return fmt.Errorf("%s: %v is none of %v", path, value, s.Enum)
	}
	switch v := value.(type) {
	case string:
		if utf8.RuneCountInString(v) > s.MaxLength || !regexp.MustCompile(s.Pattern).MatchString(v) {
			return fmt.Errorf("%s: %q is too long or does not match %q", path, v, s.Pattern)
		}
	case float64:
		if v < s.Minimum || v > s.Maximum {
			return fmt.Errorf("%s: %v is out of range", path, v)
		}
	case []any:
		for i, e := range v {
			if s.Items == nil {
				break
			}
			if err := s.Items.check(fmt.Sprintf("%s[%d]", path, i), e); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("%s: %s is missing", path, name)
			}
		}
		for name, e := range v {
			property, ok := s.Properties[name]
			if !ok && !s.closed() {
				continue
			}
			if !ok {
				return fmt.Errorf("%s: unknown %s", path, name)
			}
			if err := property.check(path+"."+name, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// closed reports whether an object has no other fields than those of the schema.
func (s schema) closed() bool { return s.AdditionalProperties != nil && !*s.AdditionalProperties }

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	}
	return fmt.Sprintf("%T", value)
}

// plain returns a YAML text as a decoded JSON value.
func plain(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	fail.On(t, yaml.Unmarshal(text, &v))
	asJSON, err := json.Marshal(v)
	fail.On(t, err)
	var back any
	fail.On(t, json.Unmarshal(asJSON, &back))
	return back
}

func TestSchemaAcceptsGoodFiles(t *testing.T) {
	s := parseSchema(t)
	for name, text := range cases(t, "testdata/good/*.txtar") {
		// JSON Schema has no equivalent for yes and no, which are Booleans only in YAML 1.1.
		text := strings.NewReplacer(": no\n", ": false\n", ": yes\n", ": true\n").Replace(string(text))
		if err := s.check("", plain(t, []byte(text))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	fail.On(t, s.check("", plain(t, []byte(everything))))
}

// TestSchemaRefusesBadFiles checks that the schema rejects errors in fields and types too.
func TestSchemaRefusesBadFiles(t *testing.T) {
	s := parseSchema(t)
	for _, glob := range []string{"testdata/bad/fields.txtar", "testdata/bad/header.txtar", "testdata/bad/release-fields.txtar"} {
		for name, text := range cases(t, glob) {
			switch name {
			case "nothing.yaml", "tagged.yaml", "binary.yaml": // not errors of fields or types
				continue
			}
			if strings.HasSuffix(name, ".yaml") && s.check("", plain(t, text)) == nil {
				t.Errorf("%s: the schema accepts it", name)
			}
		}
	}
}
