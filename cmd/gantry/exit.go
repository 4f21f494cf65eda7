package main

import (
	"errors"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/space"
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
	// errInterrupted ends a run that INT, TERM or HUP stopped.
	errInterrupted = advice.Wrap(advice.Failure, errors.New("interrupted"), "run the same command again to continue where it stopped")
	// errSomething ends a run with --exit-code that found something to do.
	errSomething = errors.New("there is something to do")
)

// usagef returns an error about the flags or the files that they name.
func usagef(format string, args ...any) error { return advice.New(advice.Input, "", format, args...) }

// usageHint is usagef with a hint.
func usageHint(hint, format string, args ...any) error {
	return advice.New(advice.Input, hint, format, args...)
}

// status returns the exit status of an error: the one place where errors become numbers.
func status(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errSomething):
		return exitSomething
	}
	switch kindOf(err) {
	case advice.Mismatch:
		return exitMismatch
	case advice.Partial:
		return exitPartial
	case advice.Input:
		return exitUsage
	case advice.Locked:
		return exitLocked
	case advice.NoSpace:
		return exitNoSpace
	case advice.Unauthorized:
		return exitUnauthorized
	}
	return exitError
}

// kindOf returns the kind of an error. Errors of the operating system about full disks have no kind
// of their own.
func kindOf(err error) advice.Kind {
	kind := advice.KindOf(err)
	if space.IsFull(err) {
		return max(kind, advice.NoSpace)
	}
	return kind
}
