package carry

import "fmt"

// A RequestError is about what was asked for: a number, a name, a file or a folder does
// not go together with what is known of the series. Nothing was written.
type RequestError struct {
	Err  error
	hint string
}

func (e *RequestError) Error() string {
	if e.hint == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + ": " + e.hint
}

func (e *RequestError) Unwrap() error { return e.Err }

// Hint says what to do; "" where the error itself does.
func (e *RequestError) Hint() string { return e.hint }

// requestf is a RequestError with what to do about it, as a sentence goes on:
// "leave it out".
func requestf(hint, format string, args ...any) error {
	return &RequestError{fmt.Errorf(format, args...), hint}
}

// A MismatchError says that an archive, a receipt or a mirror is not what it has to be
// for what was asked.
type MismatchError struct{ text, hint string }

func (e *MismatchError) Error() string {
	if e.hint == "" {
		return e.text
	}
	return e.text + "; " + e.hint
}

// Hint says what to do; "" where nothing can be done.
func (e *MismatchError) Hint() string { return e.hint }

// mismatchf is a MismatchError with what to do about it, as a sentence goes on.
func mismatchf(hint, format string, args ...any) error {
	return &MismatchError{fmt.Sprintf(format, args...), hint}
}

// An advisedError is an error with what to do about it.
type advisedError struct {
	error
	hint string
}

func (e *advisedError) Error() string { return e.error.Error() + "; " + e.hint }
func (e *advisedError) Unwrap() error { return e.error }

// Hint says what to do.
func (e *advisedError) Hint() string { return e.hint }
