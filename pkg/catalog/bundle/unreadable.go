package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// unreadable says in words what encoding/json says of a value that is not of the
// type that it must be.
func unreadable(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	what := "it"
	if wrong.Field != "" {
		what = wrong.Field
	}
	return fmt.Errorf("%s must be %s, and there is %s", what, kind(wrong.Type), found(wrong.Value))
}

// kind is a Go type in words.
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

// found is the value that stands there, in words.
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
