package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/advice/escape"
)

// finish reports how the command ended and returns the exit status.
func (a *app) finish(err error) int {
	code := status(err)
	if a.logFile != nil {
		if err := a.logFile.close(); err != nil {
			a.warn("the log is incomplete: %v", err)
		}
	}
	if a.events == nil && a.progress == progressJSON {
		a.events = view.NewEvents(a.stderr) // the flags were invalid
	}
	switch err = a.explainSettings(advised(err)); {
	case a.events != nil:
		a.events.End(code, errorTextOf(code, err))
	case err == nil || code == exitSomething:
		a.sayNext()
	case a.output == outputJSON:
		text, jsonErr := json.Marshal(errorDocument{errorTextOf(code, err)})
		if jsonErr == nil {
			fmt.Fprintf(a.stderr, "%s\n", escape.JSON(text))
		}
	case a.people != nil:
		message, hint := splitHint(err)
		a.people.Error(message, "code", code, "hint", hint)
	default:
		a.line("gantry: %s", errorLine(err))
	}
	return code
}

// errorTextOf returns err as programs read it, or nil if it is no failure.
func errorTextOf(code int, err error) *view.ErrorText {
	if err == nil || code == exitSomething {
		return nil
	}
	message, hint := splitHint(err)
	return &view.ErrorText{Code: code, Hint: hint, Message: message}
}

// An errorDocument is an error on stderr if the output is JSON.
type errorDocument struct {
	Error *view.ErrorText `json:"error"`
}

// A logFile is the file of --log-file. It remembers the first failed write, which the logger ignores.
type logFile struct {
	*os.File
	failed atomic.Pointer[error]
}

// Write appends to the file.
func (f *logFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil {
		f.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// close closes the file. The error is the first of writing and closing.
func (f *logFile) close() error {
	if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		f.failed.CompareAndSwap(nil, &err)
	}
	if failed := f.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}
