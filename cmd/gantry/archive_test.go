package main

import (
	"bytes"
)

// looked runs a verb that has no workspace.
func (w *world) looked(args ...string) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	code := (&app{stdout: &stdout, stderr: &stderr, env: w.env}).run(args)
	return outcome{stdout.String(), stderr.String(), code}
}
