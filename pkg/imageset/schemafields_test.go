package imageset_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// fields returns the schemas of all fields below s, by their paths: "mirror.operators[].catalog".
func (s schema) fields(path string, all map[string]schema) map[string]schema {
	for name, property := range s.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		all[at] = property
		property.fields(at, all)
		if property.Items != nil {
			all[at+"[]"] = *property.Items
			property.Items.fields(at+"[]", all)
		}
	}
	return all
}

// TestSchemaDescribesFields checks that an editor can say of each field what it is, and which values it has.
func TestSchemaDescribesFields(t *testing.T) {
	t.Parallel()
	enumerations, patterns, examples := 0, 0, 0
	all := parseSchema(t).fields("", map[string]schema{})
	for path, s := range all {
		if len(s.Type) == 0 || s.Description == "" && !strings.HasSuffix(path, "[]") {
			t.Errorf("%s has the type %v and the description %q", path, s.Type, s.Description)
		}
		for _, e := range s.Examples {
			if err := s.check(path, e); err != nil {
				t.Errorf("an example: %v", err)
			}
		}
		switch {
		case s.Enum != nil:
			enumerations++
		case s.Pattern != "":
			patterns++
		}
		if slices.Contains(s.Type, "string") && s.Enum == nil {
			if examples++; len(s.Examples) == 0 {
				t.Errorf("%s is a text without examples", path)
			}
		}
	}
	t.Logf("%d fields and elements: %d with enumerations, %d with patterns, %d with examples", len(all), enumerations, patterns, examples)
}

// TestSchemaAcceptsSharedFiles checks that the schema accepts the real files that are read without warnings, and after a
// conversion all that it leaves without warnings.
func TestSchemaAcceptsSharedFiles(t *testing.T) {
	t.Parallel()
	s, deletion, valid, converted, deletions := parseSchema(t), parseSchemaText(t, imageset.DeletionSchema()), 0, 0, 0
	for name, text := range sharedFiles(t) {
		if d, err := imageset.ParseDeletion(name, text); err == nil && len(d.Warnings) == 0 {
			deletions++
			if err := deletion.check("", plain(t, text)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		c, err := imageset.Parse(name, text)
		if err != nil {
			continue // TestSharedFiles knows these
		}
		if len(c.Warnings)+len(c.Unusable) > 0 {
			conversion, err := imageset.Convert(name, text)
			fail.On(t, err)
			if len(conversion.Left) > 0 {
				continue
			}
			text = conversion.Text
			converted++
		} else {
			valid++
		}
		if err := s.check("", plain(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d files as they are, %d after a conversion, %d of kind DeleteImageSetConfiguration", valid, converted, deletions)
}

// TestSchemaRefusesWrongValues puts values of every type, and names that are in no enumeration, in place of each value of
// configurations with all fields. What Parse refuses for its type or as an unknown value, the schema refuses; and it refuses
// nothing that Parse reads without a warning.
func TestSchemaRefusesWrongValues(t *testing.T) {
	t.Parallel()
	s := parseSchema(t)
	seen := map[string]bool{}
	refused, values := 0, []any{"no-such-value", "-", "", 7.0, -1.0, 0.5, true, nil, []any{}, []any{7.0}, []any{"x"}, map[string]any{}, map[string]any{"x": 1.0}}
	for _, text := range []string{everything, byPlatforms, byTag, allTools} {
		whole := plain(t, []byte(text))
		places(whole, "", func(path string, set func(any)) {
			seen[path] = true
			for _, value := range values {
				set(value)
				raw, err := json.Marshal(whole)
				fail.On(t, err)
				byType, clean := reads(raw)
				switch problem := s.check("", whole); {
				case byType != "" && problem == nil:
					t.Errorf("%s: %#v: the schema accepts it, and Parse does not: %s", path, value, byType)
				case clean && problem != nil:
					t.Errorf("%s: %#v: Parse reads it, and the schema does not: %v", path, value, problem)
				case problem != nil:
					refused++
				}
			}
		})
	}
	for _, path := range slices.Sorted(maps.Keys(s.fields("", map[string]schema{}))) {
		if !seen[path] && !strings.HasPrefix(path, "mirror.helm.") { // repositories and local have the same fields
			t.Errorf("no configuration here has %s", path)
		}
	}
	t.Logf("%d wrong values in %d places", refused, len(seen))
}

// allTools has what the other configurations do not.
const allTools = `apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  platform:
    channels: [{name: stable-4.20}]
    tools: {names: [oc], platforms: [linux/arm64], bootImages: [metal/iso]}
  operators:
  - catalog: quay.io/a/catalog:v1
    packages: [{name: a, maxVersion: 1.0.0, channels: []}, {name: b, channels: [{name: c, minVersion: 1.0.0}]}]
`

// places calls do for each value below v, with its path and a function that replaces it. It is restored afterwards.
func places(v any, path string, do func(path string, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			old, at := v[name], strings.TrimPrefix(path+"."+name, ".")
			if path == "mirror.helm.local[]" && name == "values" {
				continue // of the chart
			}
			do(at, func(value any) { v[name] = value })
			v[name] = old
			places(old, at, do)
		}
	case []any:
		for i, old := range v {
			do(path+"[]", func(value any) { v[i] = value })
			v[i] = old
			places(old, path+"[]", do)
		}
	}
}

// reads reports why Parse refuses a text for a type or an unknown value, and whether it reads it without warnings.
func reads(text []byte) (byType string, clean bool) {
	c, err := imageset.Parse("f", text)
	var bad *imageset.Error
	if err == nil {
		return "", len(c.Warnings)+len(c.Unusable) == 0
	}
	if errors.As(err, &bad) {
		for _, p := range bad.Problems {
			if strings.Contains(p.Message, "expected a") || strings.Contains(p.Message, ": unknown ") {
				return p.Message, false
			}
		}
	}
	return "", false
}
