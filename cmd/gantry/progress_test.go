package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestHowProgressIsShown checks the choice of progress output without a terminal.
func TestHowProgressIsShown(t *testing.T) {
	for _, tt := range []struct {
		name string
		app  *app
		want string
		err  string
	}{
		{name: "auto", app: &app{progress: "auto", output: outputText}, want: progressLines},
		{name: "a log in JSON", app: &app{progress: "auto", output: outputText, logFormat: outputJSON}, want: progressLines},
		{name: "a result in JSON leaves stderr to the log", app: &app{progress: "auto", output: outputJSON}, want: progressNone},
		{name: "lines beside a result in JSON", app: &app{progress: "lines", output: outputJSON}, want: progressLines},
		{name: "quiet", app: &app{progress: "auto", quiet: true}, want: progressNone},
		{name: "quiet and none", app: &app{progress: "none", quiet: true}, want: progressNone},
		{name: "events", app: &app{progress: "json"}, want: progressJSON},
		{name: "quiet and events", app: &app{progress: "json", quiet: true}, err: "--quiet and --progress json"},
		{name: "a bar", app: &app{progress: "bar"}, err: "not a terminal"},
		{name: "no such view", app: &app{progress: "dots"}, err: `--progress "dots"`},
	} {
		tt.app.stderr = &bytes.Buffer{}
		switch err := tt.app.openScreen(); {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || status(err) != exitUsage):
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
		case tt.err == "" && (err != nil || tt.app.progress != tt.want):
			t.Errorf("%s: %q, error %v, want %q", tt.name, tt.app.progress, err, tt.want)
		}
	}
}
