package main

import (
	"encoding/json"
	"fmt"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// dropRemoteSchemas removes the schemas of values that refer to files or addresses, which Helm would
// read, and returns a note on each. Such a schema can refuse values, but never changes what is rendered.
func dropRemoteSchemas(c *chart.Chart) (notes []string) {
	if len(c.Schema) > 0 && refersElsewhere(c.Schema) {
		c.Schema = nil
		notes = append(notes, fmt.Sprintf("the values of chart %s are not compared with its schema, which refers to other files or addresses", c.Name()))
	}
	for _, sub := range c.Dependencies() {
		notes = append(notes, dropRemoteSchemas(sub)...)
	}
	return notes
}

// refersElsewhere reports whether reading a JSON Schema can read anything else. Helm knows the drafts
// of JSON Schema itself.
func refersElsewhere(schema []byte) bool {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return false // Helm reports the error
	}
	return hasForeignReference(v)
}

func hasForeignReference(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			text, isText := value.(string)
			switch {
			case isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef"):
				if !strings.HasPrefix(text, "#") {
					return true
				}
			case isText && key == "$schema":
				if _, host, _ := strings.Cut(text, "://"); !strings.HasPrefix(host, "json-schema.org/") {
					return true
				}
			case hasForeignReference(value):
				return true
			}
		}
	case []any:
		for _, value := range v {
			if hasForeignReference(value) {
				return true
			}
		}
	}
	return false
}
