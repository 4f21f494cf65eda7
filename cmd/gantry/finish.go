package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/advice/escape"
)

// finish reports how the command ended and returns the exit status.
func (a *app) finish(err error) int {
	code := status(err)
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
	if a.logFile != nil {
		if err := a.logFile.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			fmt.Fprintf(a.stderr, "gantry: closing the log file: %v\n", err)
		}
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
