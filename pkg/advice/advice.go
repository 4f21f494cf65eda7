// Package advice is the one error type for people: what happened, where, and what to do next.
//
// Packages return plain errors for what only code cares about, and an *Error where a person has to
// act. Its Kind says what class of failure it is; the command line turns that into an exit status,
// and programs that use Gantry as a library can switch on it.
//
// Error types that carry data of their own, such as a list of damaged entries, implement Adviser
// in place of wrapping an Error.
//
// Hints are written for Go programs and for the command line alike: an option is named by its field,
// as in "set Options.CheckBlobs". The command line replaces such names by its flags
// ("--check-blobs"); nothing below it knows flags.
package advice

import (
	"cmp"
	"fmt"
	"slices"
)

// A Kind is the class of a failure.
type Kind uint8

// The kinds, from the most general to the most specific.
const (
	// Failure is every error of no other kind.
	Failure Kind = iota
	// Unauthorized means that a registry or server refused the credentials.
	Unauthorized
	// NoSpace means that a disk is full, or has less room than is needed.
	NoSpace
	// Locked means that another run uses the workspace or the destination.
	Locked
	// Input means that the configuration, an option or a file that one of them names is wrong.
	// Nothing was changed.
	Input
	// Partial means that some content failed and that the rest is complete and consistent.
	Partial
	// Mismatch means that content is damaged or missing, or that a signature is invalid.
	Mismatch
)

// An Error is an error that a person can act on.
type Error struct {
	Kind Kind
	// Where is the place: a file with its line, an image, a volume. It may be empty.
	Where string
	// Err is what happened.
	Err error
	// Hint is what to do next, in the imperative and without a full stop. It may be empty.
	Hint string
}

// Error returns the place and what happened, without the hint: that is printed once, at the end.
func (e *Error) Error() string {
	if e.Where == "" {
		return e.Err.Error()
	}
	return e.Where + ": " + e.Err.Error()
}

// Unwrap returns what happened.
func (e *Error) Unwrap() error { return e.Err }

// Advice returns the kind and the hint.
func (e *Error) Advice() (Kind, string) { return e.Kind, e.Hint }

// An Adviser is an error that knows its kind and what to do about it. The hint may be empty.
type Adviser interface {
	error
	Advice() (kind Kind, hint string)
}

// A Remedied is an Adviser that knows what usually helps. That counts only if no error around or below it has a hint.
type Remedied interface{ Remedy() string }

// New returns an *Error of a kind with a hint, which may be empty. The text is formatted like fmt.Errorf's.
func New(kind Kind, hint, format string, args ...any) error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Wrap returns err as an *Error of a kind with a hint, which may be empty. It returns nil for nil.
func Wrap(kind Kind, err error, hint string) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: kind, Err: err, Hint: hint}
}

// KindOf returns the kind of err. Of several, as where errors were joined, it is the most specific:
// Mismatch before Partial, Input, Locked, NoSpace, Unauthorized and Failure.
func KindOf(err error) Kind {
	kind := Failure
	walk(err, func(a Adviser) bool {
		k, _ := a.Advice()
		kind = max(kind, k)
		return true
	})
	return kind
}

// Hint returns the first hint of err and the errors that it wraps, from the outside in. It is empty
// if none has one.
func Hint(err error) (hint string) {
	walk(err, func(a Adviser) bool {
		_, hint = a.Advice()
		return hint == ""
	})
	hint = cmp.Or(hint, remedy(err))
	return hint
}

// remedy returns what usually helps against err.
func remedy(err error) (text string) {
	walk(err, func(a Adviser) bool {
		if r, ok := a.(Remedied); ok {
			text = r.Remedy()
		}
		return text == ""
	})
	return text
}

// Hints returns all hints of err and the errors that it wraps, each once, from the outside in.
func Hints(err error) (hints []string) {
	walk(err, func(a Adviser) bool {
		if _, hint := a.Advice(); hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
		return true
	})
	if text := remedy(err); text != "" && hints == nil {
		hints = []string{text}
	}
	return hints
}

// Text returns err for people: its message, a semicolon and the hint, if any. It is empty for nil.
func Text(err error) string {
	if err == nil {
		return ""
	}
	if hint := Hint(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}

// walk visits the advisers in the tree of err, depth first, until visit returns false.
func walk(err error, visit func(Adviser) bool) bool {
	if err == nil {
		return true
	}
	if a, ok := err.(Adviser); ok && !visit(a) { //nolint:errorlint // walk visits wrapped errors one by one
		return false
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		return walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if !walk(inner, visit) {
				return false
			}
		}
	}
	return true
}
