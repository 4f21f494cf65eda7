package gantry

import (
	"path"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// optionName is an option as the packages of verbs name it: the field of an option struct.
var optionName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:[a-z]+\.)?[A-Za-z]*Options\.((?:(?:Source|Destination)\.)?[A-Z][A-Za-z0-9]*)`)
})

// words name options in errors by fields that a program can set.
type words struct {
	options reflect.Type      // of this package
	verb    reflect.Type      // of the package of the verb
	renamed map[string]string // fields of verb that have another name in options
}

func wordsOf[T, Verb any](renamed map[string]string) words {
	return words{options: reflect.TypeFor[T](), verb: reflect.TypeFor[Verb](), renamed: renamed}
}

// of returns an error whose text and hint name such fields.
func (w words) of(err error) error {
	if err == nil {
		return nil
	}
	message, hint := err.Error(), advice.Hint(err)
	out := &optionError{err: err, message: w.replace(message), hint: w.replace(hint)}
	if out.message == message && out.hint == hint {
		return err
	}
	return out
}

func (w words) replace(text string) string {
	return optionName().ReplaceAllStringFunc(text, func(name string) string {
		_, field, _ := strings.Cut(name, "Options.")
		if own, ok := w.renamed[field]; ok && has(w.options, own) {
			return w.options.Name() + "." + own
		}
		switch {
		case has(w.options, field):
			return w.options.Name() + "." + field
		case has(reflect.TypeFor[Env](), field):
			return "Env." + field
		case has(w.verb, field):
			return path.Base(w.verb.PkgPath()) + "." + w.verb.Name() + "." + field
		}
		return name
	})
}

// has reports whether a struct has a field; "Source.AuthFile" is one of a field.
func has(t reflect.Type, field string) bool {
	first, rest, more := strings.Cut(field, ".")
	f, ok := t.FieldByName(first)
	return ok && (!more || f.Type.Kind() == reflect.Struct && has(f.Type, rest))
}

// An optionError is an error about options, which it names as fields of this package.
type optionError struct {
	err           error
	message, hint string
}

func (e *optionError) Error() string { return e.message }
func (e *optionError) Unwrap() error { return e.err }

// Advice implements advice.Adviser.
func (e *optionError) Advice() (advice.Kind, string) { return advice.KindOf(e.err), e.hint }
