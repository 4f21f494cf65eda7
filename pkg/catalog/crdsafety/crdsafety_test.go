package crdsafety_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/crdsafety"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// definition is a CustomResourceDefinition with one version. %s is the schema of spec.size.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: otters.zoo.example.com}
spec:
  group: zoo.example.com
  names: {kind: Otter, plural: otters}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: %s
`

func read(t *testing.T, text string) *crdsafety.CRD {
	t.Helper()
	c, err := crdsafety.Read([]byte(text))
	fail.On(t, err)
	return c
}

func compare(t *testing.T, old, next string) []string {
	t.Helper()
	all := []string{}
	for _, v := range crdsafety.Compare(read(t, old), read(t, next)) {
		all = append(all, fmt.Sprintf("%s|%s", v.Rule, v))
	}
	return all
}

// TestKeywords changes one keyword of a field at a time.
func TestKeywords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ old, next, want string }{ // want is "" if OLM v1 accepts the change
		{`{type: integer}`, `{type: string}`, `type|v1: spec.size: type was changed from "integer" to "string"`},
		{`{type: integer}`, `{type: integer, nullable: true}`, `nullable|v1: spec.size: nullable was added: true`},
		{`{type: integer, nullable: true}`, `{type: integer, nullable: false}`, `nullable|v1: spec.size: nullable was removed: true`},
		{`{type: integer, nullable: false}`, `{type: integer}`, ""},
		{`{type: object}`, `{type: object, required: [b, a]}`, `required|v1: spec.size: the field requires more fields: a, b`},
		{`{type: object, required: [a, b]}`, `{type: object, required: [b, c]}`, `required|v1: spec.size: the field requires more fields: c`},
		{`{type: object, required: [a, b]}`, `{type: object, required: [b]}`, ""},
		{`{type: string}`, `{type: string, enum: [b, a]}`, `enum|v1: spec.size: enum was added: ["a","b"]`},
		{`{type: string, enum: [a, b]}`, `{type: string, enum: [a]}`, `enum|v1: spec.size: enum was changed from ["a","b"] to ["a"]`},
		{`{type: string, enum: [a, b]}`, `{type: string}`, `enum|v1: spec.size: enum was removed: ["a","b"]`},
		{`{type: string, enum: [a, b]}`, `{type: string, enum: [b, c, a]}`, ""},
		{`{type: string}`, `{type: string, default: x}`, `default|v1: spec.size: default was added: "x"`},
		{`{type: string, default: x}`, `{type: string, default: ""}`, `default|v1: spec.size: default was changed from "x" to ""`},
		{`{type: boolean, default: false}`, `{type: boolean}`, `default|v1: spec.size: default was removed: false`},
		{`{type: object, default: {a: 1, b: 2}}`, `{type: object, default: {b: 2, a: 1}}`, ""},
		{`{type: string}`, `{type: string, pattern: "^a"}`, `pattern|v1: spec.size: pattern was added: "^a"`},
		{`{type: string, pattern: "^a"}`, `{type: string}`, `pattern|v1: spec.size: pattern was removed: "^a"`},
		{`{type: integer}`, `{type: integer, minimum: 0}`, `minimum|v1: spec.size: minimum was added: 0`},
		{`{type: integer, minimum: 1}`, `{type: integer, minimum: 2}`, `minimum|v1: spec.size: minimum was changed from 1 to 2`},
		{`{type: integer, minimum: 2}`, `{type: integer, minimum: 1}`, ""},
		{`{type: integer, minimum: 2}`, `{type: integer, minimum: 2.0}`, ""},
		{`{type: integer, minimum: 2}`, `{type: integer}`, ""},
		{`{type: string, minLength: 1}`, `{type: string, minLength: 2}`, `minLength|v1: spec.size: minLength was changed from 1 to 2`},
		{`{type: array, minItems: 1}`, `{type: array, minItems: 2}`, `minItems|v1: spec.size: minItems was changed from 1 to 2`},
		{`{type: object, minProperties: 1}`, `{type: object, minProperties: 2}`, `minProperties|v1: spec.size: minProperties was changed from 1 to 2`},
		{`{type: integer}`, `{type: integer, maximum: 9}`, `maximum|v1: spec.size: maximum was added: 9`},
		{`{type: integer, maximum: 10}`, `{type: integer, maximum: 9}`, `maximum|v1: spec.size: maximum was changed from 10 to 9`},
		{`{type: integer, maximum: 9}`, `{type: integer, maximum: 10}`, ""},
		{`{type: string, maxLength: 10}`, `{type: string, maxLength: 9}`, `maxLength|v1: spec.size: maxLength was changed from 10 to 9`},
		{`{type: array, maxItems: 10}`, `{type: array, maxItems: 9}`, `maxItems|v1: spec.size: maxItems was changed from 10 to 9`},
		{`{type: object, maxProperties: 10}`, `{type: object, maxProperties: 9}`, `maxProperties|v1: spec.size: maxProperties was changed from 10 to 9`},
		{`{type: object, oneOf: [{required: [a]}]}`, `{type: object, oneOf: [{required: [a], description: new}]}`, ""},
		{`{type: object}`, `{type: object, oneOf: [{required: [a]}]}`, `oneOf|v1: spec.size: oneOf was added: [{"required":["a"]}]`},
		{`{type: string}`, `{type: string, format: email}`, `otherChange|v1: spec.size: format was added: "email"`},
		{`{type: object}`, `{type: object, x-kubernetes-validations: [{rule: "self.a > 1"}]}`, `otherChange|v1: spec.size: x-kubernetes-validations was added: [{"rule":"self.a \u003e 1"}]`},
		{`{type: object, additionalProperties: {type: string, description: a}}`, `{type: object, additionalProperties: {type: string, description: b}}`,
			`otherChange|v1: spec.size: additionalProperties was changed from {"description":"a","type":"string"} to {"description":"b","type":"string"}`},
		{`{type: object, additionalProperties: {type: string}}`, `{type: object, additionalProperties: {type: integer}}`, `type|v1: spec.size{}: type was changed from "string" to "integer"`},
		{`{type: array, items: {type: string}}`, `{type: array, items: {type: integer}}`, `type|v1: spec.size[]: type was changed from "string" to "integer"`},
		{`{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}`, `{type: object}`, `removedField|v1: spec.size.a: the field was removed`},
		{`{type: object}`, `{type: object, properties: {a: {type: string, default: x, minLength: 3}}}`, ""},
		{`{type: string, description: a}`, `{type: string, description: b}`, ""},
		{`{type: string}`, `{type: string, unknown-keyword: b}`, ""},
		// What the API server does not keep is no change within keywords that are compared as a whole either.
		{`{type: object, additionalProperties: {type: string, nullable: false}}`, `{type: object, additionalProperties: {type: string}}`, ""},
		{`{type: object, additionalProperties: {type: string}}`, `{type: object, additionalProperties: {type: string, default: null}}`, ""},
		{`{type: object, anyOf: [{x-kubernetes-validations: [], required: [a]}]}`, `{type: object, anyOf: [{required: [a]}]}`, ""},
		{`{type: object, not: {required: [a]}}`, `{type: object, not: {required: [a], unknown-keyword: b, enum: [], pattern: ""}}`, ""},
		{`{type: object, not: {properties: {a: {type: array, items: {type: string, uniqueItems: false}}}}}`, `{type: object, not: {properties: {a: {type: array, items: {type: string}}}}}`, ""},
		{`{type: object, allOf: [{x-kubernetes-validations: [{rule: a, message: ""}]}]}`, `{type: object, allOf: [{x-kubernetes-validations: [{rule: a, other: b}]}]}`, ""},
		{`{type: object, oneOf: [{required: [a], nullable: false}]}`, `{type: object, oneOf: [{required: [a], default: null}]}`, ""},
		{`{type: object, anyOf: [{minLength: 0}]}`, `{type: object, anyOf: [{}]}`, `otherChange|v1: spec.size: anyOf was changed from [{"minLength":0}] to [{}]`},
		{`{type: object, additionalProperties: {x-kubernetes-preserve-unknown-fields: false}}`, `{type: object, additionalProperties: {}}`,
			`otherChange|v1: spec.size{}: x-kubernetes-preserve-unknown-fields was removed: false`},
	} {
		want := []string{}
		if tc.want != "" {
			want = []string{tc.want}
		}
		fail.Diff(t, want, compare(t, fmt.Sprintf(definition, tc.old), fmt.Sprintf(definition, tc.next)))
	}
}

// TestVersions changes the scope and the versions.
func TestVersions(t *testing.T) {
	t.Parallel()
	version := func(name, served, storage, schema string) string {
		return fmt.Sprintf("  - {name: %s, served: %s, storage: %s, schema: {openAPIV3Schema: %s}}\n", name, served, storage, schema)
	}
	crd := func(scope, more string, versions ...string) string {
		return "kind: CustomResourceDefinition\nmetadata: {name: x.example.com}\nspec:\n  scope: " + scope + "\n" + more + "  versions:\n" + strings.Join(versions, "")
	}
	const (
		plain  = `{type: object, properties: {a: {type: string}}}`
		longer = `{type: object, properties: {a: {type: string}, b: {type: string}}}`
		number = `{type: object, properties: {a: {type: integer}}}`
		hook   = "  conversion: {strategy: Webhook}\n"
	)
	v1 := version("v1", "true", "true", plain)
	for _, tc := range []struct {
		name, old, next string
		want            []string
	}{
		{"scope", crd("Namespaced", "", v1), crd("Cluster", "", v1), []string{"scope|the scope was changed from Namespaced to Cluster"}},
		{"stored version", crd("Cluster", "", v1), crd("Cluster", "", version("v2", "true", "true", plain)),
			[]string{"storedVersion|v1: the version in which objects are stored was removed"}},
		{"other version", crd("Cluster", "", version("v1beta1", "true", "false", plain), v1), crd("Cluster", "", v1),
			[]string{"storedVersion|v1beta1: the version was removed, which is refused if status.storedVersions lists it"}},
		{"version that was never stored", crd("Cluster", "", version("v1beta1", "true", "false", plain), v1) + "status: {storedVersions: [v1]}\n", crd("Cluster", "", v1), nil},
		{"version that was stored", crd("Cluster", "", version("v1beta1", "true", "false", plain), v1) + "status: {storedVersions: [v1beta1, v1]}\n", crd("Cluster", "", v1),
			[]string{"storedVersion|v1beta1: the version in which objects are stored was removed"}},
		{"new version like the old one", crd("Cluster", "", v1), crd("Cluster", "", v1, version("v2", "true", "false", plain)), nil},
		{"new version with another type", crd("Cluster", "", v1), crd("Cluster", "", version("v2", "true", "false", number), v1),
			[]string{`type|v1 -> v2: a: type differs between served versions ("string", "integer"), and no webhook converts objects`}},
		{"older version first", crd("Cluster", "", v1), crd("Cluster", "", v1, version("v1alpha1", "true", "false", longer)),
			[]string{"removedField|v1alpha1 -> v1: b: the field is not in both served versions, and no webhook converts objects"}},
		{"with a webhook", crd("Cluster", "", v1), crd("Cluster", hook, version("v2", "true", "false", number), v1), nil},
		{"not served", crd("Cluster", "", v1), crd("Cluster", "", version("v2", "false", "false", number), v1), nil},
		{"known difference", crd("Cluster", "", version("v2", "true", "false", number), v1), crd("Cluster", "", version("v2", "true", "false", number), v1), nil},
		{"required in both", crd("Cluster", "", v1), crd("Cluster", "", version("v1", "true", "true", `{type: object, required: [a], properties: {a: {type: string}}}`)),
			[]string{"required|v1: the field requires more fields: a"}},
	} {
		want := append([]string{}, tc.want...)
		if diff := cmp.Diff(want, compare(t, tc.old, tc.next)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestOld reads the format of v1beta1, where all versions may share one schema.
func TestOld(t *testing.T) {
	t.Parallel()
	text := func(schema string) string {
		return "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nspec:\n  version: v1\n  validation: {openAPIV3Schema: " + schema + "}\n"
	}
	got := compare(t, text(`{properties: {a: {type: string}}}`), fmt.Sprintf(definition, `{}`))
	want := []string{
		`type|v1: type was added: "object"`,
		"removedField|v1: a: the field was removed",
	}
	fail.Diff(t, want, got)
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"properties":{"a":`, 120) + "{}" + strings.Repeat("}}", 120)
	for text, want := range map[string]string{
		`kind: Service`: crdsafety.ErrOtherKind.Error(),
		`{"kind":`:      "reading a CustomResourceDefinition",
		"a: b: c":       "reading a CustomResourceDefinition",
		`{"kind":"CustomResourceDefinition","spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":` + deep + `}}]}}`: "too large",
	} {
		if _, err := crdsafety.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %s", text, err, want)
		}
	}
}

// FuzzRead checks that a definition that can be read has no differences from itself.
func FuzzRead(f *testing.F) {
	f.Add(fmt.Appendf(nil, definition, `{type: string, enum: [a]}`), fmt.Appendf(nil, definition, `{type: array, items: {type: string}}`))
	f.Add([]byte(`{"kind":"CustomResourceDefinition","spec":{"version":"v1","validation":{"openAPIV3Schema":{"oneOf":[{"not":{}}]}}}}`), []byte("kind: X"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, err := crdsafety.Read(a)
		if err != nil {
			return
		}
		if got := crdsafety.Compare(x, x); len(got) > 0 {
			t.Errorf("%q differs from itself: %v", a, got)
		}
		y, err := crdsafety.Read(b)
		if err != nil {
			return
		}
		for _, v := range crdsafety.Compare(x, y) {
			if v.String() == "" || v.Rule == "" {
				t.Errorf("%+v has no text", v)
			}
		}
	})
}
