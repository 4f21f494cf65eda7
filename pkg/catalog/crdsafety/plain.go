package crdsafety

// OLM v1 reads a definition into the types of the API server before it compares it. There, an unknown keyword does not
// exist, null is none, and so are false, "" and an empty list where the type has no other value for none. Keywords that
// contain schemas (additionalProperties, anyOf, not) are compared as a whole, so that this counts within them, too.

// The keywords within a schema, by their types (apiextensions/v1, JSONSchemaProps).
var (
	// plainKeywords have a value for none: false, "", or an empty list or object.
	plainKeywords = set("id", "$schema", "description", "type", "format", "title", "pattern",
		"nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
		"required", "enum", "x-kubernetes-list-map-keys")
	// pointerKeywords have any value, or null for none.
	pointerKeywords = set("$ref", "default", "example", "maximum", "minimum", "maxLength", "minLength", "maxItems", "minItems", "multipleOf",
		"maxProperties", "minProperties", "externalDocs", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type", "x-kubernetes-map-type")
	ruleKeywords        = set("rule", "message", "messageExpression", "fieldPath")
	pointerRuleKeywords = set("reason", "optionalOldSelf")
)

func set(keys ...string) map[string]bool {
	all := map[string]bool{}
	for _, key := range keys {
		all[key] = true
	}
	return all
}

// plain returns the value of a keyword as OLM v1 compares it; nil is none.
func plain(key string, value any) any {
	switch key {
	case "not", keyAdditional, "additionalItems":
		return plainSchema(value)
	case keyItems, "allOf", "anyOf", keyOneOf:
		list, ok := value.([]any)
		if !ok {
			return plainSchema(value) // of items
		}
		return plainList(list, plainSchema)
	case keyProperties, "patternProperties", "definitions", "dependencies":
		schemas, ok := value.(map[string]any)
		if !ok || len(schemas) == 0 {
			return nil
		}
		all := map[string]any{}
		for name, x := range schemas {
			all[name] = plainSchema(x)
		}
		return all
	case "x-kubernetes-validations":
		list, _ := value.([]any)
		return plainList(list, plainRule)
	}
	switch {
	case pointerKeywords[key]:
		return value
	case plainKeywords[key] && !isZero(value):
		return value
	}
	return nil
}

// plainSchema returns a schema, or what may be in its place: true, false, or a list of names.
func plainSchema(value any) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	all := map[string]any{}
	for key, x := range schema {
		if x = plain(key, x); x != nil {
			all[key] = x
		}
	}
	return all
}

// plainRule returns a validation rule.
func plainRule(value any) any {
	rule, ok := value.(map[string]any)
	if !ok {
		return value
	}
	all := map[string]any{}
	for key, x := range rule {
		if ruleKeywords[key] && !isZero(x) || pointerRuleKeywords[key] && x != nil {
			all[key] = x
		}
	}
	return all
}

func plainList(list []any, element func(any) any) any {
	if len(list) == 0 {
		return nil
	}
	all := make([]any, len(list))
	for i, x := range list {
		all[i] = element(x)
	}
	return all
}

// isZero reports whether a value is none for a keyword whose type is not a pointer.
func isZero(value any) bool {
	switch x := value.(type) {
	case nil:
		return true
	case bool:
		return !x
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	}
	return false
}
