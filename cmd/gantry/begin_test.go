package main

import (
	"io"
	"testing"
)

// TestBegin checks that only commands which may have something to save change the settings of the
// process and catch signals.
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		begin bool
	}{
		{[]string{"--version"}, false},
		{[]string{"version"}, false},
		{[]string{"--help"}, false},
		{[]string{"mirror", "--help"}, false},
		{[]string{"__complete", "mirror", "--"}, false},
		{[]string{"config", "schema"}, true},
		{[]string{"status", "--workspace", "missing"}, true},
	} {
		begun := 0
		a := &app{stdout: io.Discard, stderr: io.Discard, prepare: func() { begun++ }}
		a.run(c.args)
		if want := map[bool]int{true: 1}[c.begin]; begun != want {
			t.Errorf("gantry %q began %d times, want %d", c.args, begun, want)
		}
	}
}
