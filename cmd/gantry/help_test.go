package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every verb tells how it is used and how it ends.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" { // cobra's
			return
		}
		var out bytes.Buffer
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		if code := run(args, &out, &out); code != exitOK {
			t.Errorf("%s ended with %d", c.CommandPath(), code)
		}
		for _, word := range []string{"EXIT STATUS", "Usage:\n  " + c.CommandPath()} {
			if !strings.Contains(out.String(), word) {
				t.Errorf("%s --help lacks %q", c.CommandPath(), word)
			}
		}
		if c.HasParent() && !strings.Contains(out.String(), "Examples:\n  gantry ") {
			t.Errorf("%s --help has no examples", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).command())
}

func TestUnknownVerbs(t *testing.T) {
	for args, want := range map[string]string{
		"miror":               `did you mean "mirror"?`,
		"config chekc":        `did you mean "check"?`,
		"quux --output json":  `unknown command \"quux\"`,
		"config check":        "gantry config check --help",
		"config schema extra": "gantry config schema --help",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("gantry %s: %d\n%s%s", args, code, stdout.String(), stderr.String())
		}
	}
}
