package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/lockfile"
	"github.com/gantry-mirror/gantry/pkg/release/update"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/pkg/space"
	"github.com/gantry-mirror/gantry/plan"
)

// The exit status, as docs/ promises it. 2 is never used: Go panics use it.
const (
	exitOK           = 0
	exitError        = 1
	exitPartial      = 3
	exitMismatch     = 4
	exitSomething    = 5
	exitUsage        = 10
	exitLocked       = 11
	exitUnauthorized = 12
	exitNoSpace      = 13
	exitInterrupted  = 130
)

var (
	// errInterrupted ends a run that INT or TERM stopped.
	errInterrupted = &hintError{errors.New("interrupted"), ": ", "run the same command again to go on where it stopped"}
	// errSomething is the answer of --exit-code.
	errSomething = errors.New("there is something to do")
)

// A usageError is a mistake in the flags or the files that they name.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// usageHint is usagef with what to do about it apart, as a sentence goes on:
// "no destination: write …".
func usageHint(hint, format string, args ...any) error {
	return &usageError{&hintError{fmt.Errorf(format, args...), ": ", hint}}
}

// status is the exit status of an error: the one place where errors become
// numbers.
func status(err error) int {
	var (
		partial   *partialError
		repair    *carry.RepairError
		usage     *usageError
		config    *imageset.Error
		selection *filter.SelectionError
		input     *plan.InputError
		held      *lockfile.HeldError
		damage    *archive.DamageError
		signature *archive.SignatureError
		locked    *archive.LockedError
		mixed     *archive.MixedError
		mismatch  *mismatchError
		unfit     *carry.MismatchError
		request   *carry.RequestError
		distrust  *gpg.DistrustError
		clash     *mirror.ClashError
		channel   *update.UnknownChannelError
		question  *update.QuestionError
		address   *remote.AddressError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errSomething):
		return exitSomething
	case errors.As(err, &damage), errors.As(err, &signature), errors.As(err, &mismatch), errors.As(err, &unfit), errors.As(err, &distrust) && !distrust.Unknown:
		return exitMismatch
	case errors.As(err, &partial), errors.As(err, &repair):
		return exitPartial
	case errors.As(err, &usage), errors.As(err, &request), errors.As(err, &config), errors.As(err, &selection), errors.As(err, &input), errors.As(err, &clash), errors.As(err, &locked), errors.As(err, &mixed),
		errors.As(err, &channel), errors.As(err, &question), errors.As(err, &address):
		return exitUsage
	case errors.As(err, &held):
		return exitLocked
	case space.IsFull(err):
		return exitNoSpace
	case errors.Is(err, remote.ErrUnauthorized):
		return exitUnauthorized
	}
	return exitError
}

// finish reports how the command ended and returns the exit status.
func (a *app) finish(err error) int {
	code := status(err)
	if a.events == nil && a.progress == progressJSON {
		a.events = newEvents(a.stderr) // the flags were refused
	}
	switch err = advised(err); {
	case a.events != nil:
		a.events.end(code, errorTextOf(code, err))
	case err == nil || code == exitSomething:
	case a.output == outputJSON:
		text, jsonErr := json.Marshal(map[string]any{"error": errorTextOf(code, err)})
		if jsonErr == nil {
			fmt.Fprintf(a.stderr, "%s\n", text)
		}
	case a.people != nil:
		message, hint := splitHint(err)
		a.people.Error(message, "code", code, "hint", hint)
	default:
		a.line("gantry: %v", err)
	}
	if a.logFile != nil {
		if err := a.logFile.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			fmt.Fprintf(a.stderr, "gantry: closing the log file: %v\n", err)
		}
	}
	return code
}

// An errorText is an error as programs read it.
type errorText struct {
	Code    int    `json:"code"`
	Hint    string `json:"hint"`
	Message string `json:"message"`
}

// errorTextOf is err as programs read it; nil where it is no failure.
func errorTextOf(code int, err error) *errorText {
	if err == nil || code == exitSomething {
		return nil
	}
	message, hint := splitHint(err)
	return &errorText{Code: code, Hint: hint, Message: message}
}
