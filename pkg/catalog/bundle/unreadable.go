package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// unreadable rewrites an error of encoding/json about a value of the wrong type.
func unreadable(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	what := "the value"
	if wrong.Field != "" {
		what = wrong.Field
	}
	return fmt.Errorf("%s must be %s, not %s", what, kind(wrong.Type), found(wrong.Value))
}

// kind describes a Go type.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Int32:
		return "a whole number"
	default:
		return "an object"
	}
}

// found describes the actual value.
func found(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + value
}
