package rpc

import (
	"errors"
	"fmt"
	"strings"
)

// A Code is the outcome of a call.
type Code int

// The codes that are used here (google.rpc.Code).
const (
	OK                Code = 0
	Canceled          Code = 1
	Unknown           Code = 2
	InvalidArgument   Code = 3
	DeadlineExceeded  Code = 4
	NotFound          Code = 5
	ResourceExhausted Code = 8
	Unimplemented     Code = 12
	Internal          Code = 13
	Unavailable       Code = 14
)

// An Error is a call's outcome other than OK. Its message is sent to the caller.
type Error struct {
	Code Code
	Err  error
}

// Errorf makes an Error, with a format as that of fmt.Errorf.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Error is the message.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap is the error within.
func (e *Error) Unwrap() error { return e.Err }

// outcome is the code and message of an error.
func outcome(err error) (Code, string) {
	if err == nil {
		return OK, ""
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code, err.Error()
	}
	return Unknown, err.Error()
}

// percent encodes a message as the header grpc-message wants it: everything but
// printable ASCII, and the percent sign itself, as %XX.
func percent(message string) string {
	var out strings.Builder
	for _, b := range []byte(message) {
		if b < ' ' || b > '~' || b == '%' {
			fmt.Fprintf(&out, "%%%02X", b)
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}
