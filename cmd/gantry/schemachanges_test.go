package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// breakingChanges returns what a program that was written for the earlier schema of an output cannot rely on any
// longer: members that are gone or can be absent, and values of other types.
func breakingChanges(before, now *jsonschema.Schema) []string {
	c := &schemaComparison{before: before, now: now, seen: map[[2]*jsonschema.Schema]bool{}}
	c.compare("", before, now)
	return c.changes
}

type schemaComparison struct {
	before, now *jsonschema.Schema
	seen        map[[2]*jsonschema.Schema]bool
	changes     []string
}

func (c *schemaComparison) compare(path string, before, now *jsonschema.Schema) {
	before, nullBefore := resolve(c.before, before)
	now, nullNow := resolve(c.now, now)
	where := path
	if where == "" {
		where = "the document"
	}
	if types := typesOf(before); len(types) > 0 {
		if nullBefore {
			types = append(types, "null")
		}
		after := typesOf(now)
		if nullNow {
			after = append(after, "null")
		}
		if len(after) == 0 {
			after = []string{"anything"}
		}
		for _, t := range after {
			if !slices.Contains(types, t) && (t != "integer" || !slices.Contains(types, "number")) {
				c.changes = append(c.changes, fmt.Sprintf("%s can be of type %s, and was of type %s", where, t, strings.Join(types, " or ")))
			}
		}
	}
	if c.seen[[2]*jsonschema.Schema{before, now}] {
		return
	}
	c.seen[[2]*jsonschema.Schema{before, now}] = true
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		after, ok := now.Properties[name]
		if !ok {
			c.changes = append(c.changes, fmt.Sprintf("%s no longer has the member %s", where, name))
			continue
		}
		if slices.Contains(before.Required, name) && !slices.Contains(now.Required, name) {
			c.changes = append(c.changes, fmt.Sprintf("the member %s of %s can be absent now", name, where))
		}
		c.compare(path+"."+name, before.Properties[name], after)
	}
	if before.Items != nil && now.Items != nil {
		c.compare(path+"[]", before.Items, now.Items)
	}
	if before.AdditionalProperties != nil && now.AdditionalProperties != nil {
		c.compare(path+".*", before.AdditionalProperties, now.AdditionalProperties)
	}
}

// resolve follows references, and reports whether null is accepted beside what they refer to.
func resolve(root, s *jsonschema.Schema) (_ *jsonschema.Schema, null bool) {
	for {
		switch {
		case s.Ref != "":
			s = root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		case len(s.AllOf) == 1:
			s = s.AllOf[0]
		case len(s.AnyOf) == 2:
			s, null = s.AnyOf[0], true
		default:
			return s, null
		}
	}
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return slices.Clone(s.Types)
}

func TestBreakingChanges(t *testing.T) {
	before := `{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":["array","null"],"items":{"$ref":"#/$defs/n"}},"c":{"type":"number"}},
		"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"x":{"type":"integer"}}}}}`
	for _, test := range []struct{ old, new, want string }{
		{"", "", ""},
		{`"c":{"type":"number"}`, `"c":{"type":"integer"},"d":{"type":"string"}`, ""},
		{`"required":["a"]`, `"required":["a","b"]`, ""},
		{`"required":["a"],`, ``, "the member a of the document can be absent now"},
		{`"a":{"type":"string"},`, ``, "the document no longer has the member a"},
		{`"a":{"type":"string"}`, `"a":{"type":["string","null"]}`, ".a can be of type null, and was of type string"},
		{`"a":{"type":"string"}`, `"a":{}`, ".a can be of type anything, and was of type string"},
		{`"a":{"type":"string"}`, `"a":{"allOf":[{"type":"string"}]}`, ""},
		{`"x":{"type":"integer"}`, `"x":{"type":"string"}`, ".b[].x can be of type string, and was of type integer"},
		{`,"x":{"type":"integer"}`, ``, ".b[] no longer has the member x"},
		{`"next":{"$ref":"#/$defs/n"}`, `"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}`, ".b[].next can be of type null, and was of type object"},
	} {
		var a, b jsonschema.Schema
		fail.On(t, json.Unmarshal([]byte(before), &a))
		fail.On(t, json.Unmarshal([]byte(strings.Replace(before, test.old, test.new, 1)), &b))
		if got := strings.Join(breakingChanges(&a, &b), "\n"); got != test.want {
			t.Errorf("with %s in place of %s: %q, want %q", test.new, test.old, got, test.want)
		}
	}
}
