package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelp checks that the help of every command begins with examples and has the usage and the exit
// status, in at most 60 lines, and that the complete help describes every flag.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" || c.Name() == "completion" || c.Hidden { // the first two are cobra's
			return
		}
		var out bytes.Buffer
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		if code := run(args, &out, &out); code != exitOK {
			t.Errorf("%s ended with %d", c.CommandPath(), code)
		}
		if n := strings.Count(out.String(), "\n"); n > 60 {
			t.Errorf("%s --help has %d lines", c.CommandPath(), n)
		}
		for _, word := range []string{"EXIT STATUS", "Usage:\n  " + c.CommandPath()} {
			if !strings.Contains(out.String(), word) {
				t.Errorf("%s --help lacks %q", c.CommandPath(), word)
			}
		}
		if !strings.HasPrefix(out.String(), "Examples:\n  gantry ") {
			t.Errorf("%s --help does not begin with examples", c.CommandPath())
		}
		out.Reset()
		if code := run(append(args, "--all"), &out, &out); code != exitOK {
			t.Errorf("%s --help --all ended with %d", c.CommandPath(), code)
		}
		lines := strings.Split(out.String(), "\n")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			described := slices.ContainsFunc(lines, func(line string) bool {
				_, rest, found := strings.Cut(line, "--"+f.Name+" ")
				return found && strings.HasPrefix(line, "  ") && strings.Contains(rest, f.Usage)
			})
			if described == (f.Hidden || f.Name == "help") {
				t.Errorf("%s --help --all: --%s is described: %t", c.CommandPath(), f.Name, described)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).command(everyVerb))
}

// TestHelpIsShort checks that help lists at most 16 commands, all in a group, and the short help of
// each command at most 20 flags.
func TestHelpIsShort(t *testing.T) {
	root := (&app{}).command(everyVerb)
	listed := 0
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			listed++
			if c.GroupID == "" {
				t.Errorf("%s is in no group", c.CommandPath())
			}
		}
	}
	if listed == 0 || listed > 16 {
		t.Errorf("gantry --help lists %d commands", listed)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		_, flags, _ := strings.Cut(helpText(c, false), "\nFlags:\n")
		flags, _, _ = strings.Cut(flags, "\n\n")
		if n := len(strings.Split(flags, "\n")); n > 20 {
			t.Errorf("%s --help describes %d flags:\n%s", c.CommandPath(), n, flags)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// TestHelpGroups checks the complete help of gantry mirror, which has flags of every group.
func TestHelpGroups(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"mirror", "--help", "--all"}, &out, &out); code != exitOK {
		t.Fatal(code, out.String())
	}
	rest := out.String()
	for _, group := range []string{"Flags:", "--config", "--volume-size", "Content:", "--platforms-mode", "Source:", "--src-authfile", "Destination:", "--dest-authfile", "Archive:", "--redundancy", "Trust:", "--verify-key", "Reports:", "--metrics-file", "Tuning:", "--retry-times", "Flags of every command:", "--quiet"} {
		_, after, found := strings.Cut(rest, group)
		if !found {
			t.Fatalf("%s is missing, or in another order:\n%s", group, out.String())
		}
		rest = after
	}
	out.Reset()
	if code := run([]string{"plan", "--all"}, &out, &out); code != exitUsage || !strings.Contains(out.String(), "gantry plan --help --all") {
		t.Errorf("--all without --help: %d\n%s", code, out.String())
	}
}

// TestVerbsOfOtherTools checks that verbs which Gantry does not have are answered with those that it
// has, whatever flags they are given.
func TestVerbsOfOtherTools(t *testing.T) {
	for args, want := range map[string]string{
		"init":                       "gantry catalog init",
		"inspect docker://quay.io/a": "gantry archive inspect",
		"copy a b --all":             "gantry mirror",
		"sync -c x.yaml":             "gantry mirror",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("gantry %s: %d\n%s%s", args, code, stdout.String(), stderr.String())
		}
	}
	for verb, hint := range instructions() {
		root := (&app{}).command(everyVerb)
		for _, words := range strings.Split(hint, "gantry ")[1:] {
			name, _, _ := strings.Cut(words, " ")
			if c, _, err := root.Find([]string{name}); err != nil || c == root || c.Hidden {
				t.Errorf("gantry %s names gantry %s, which does not exist", verb, name)
			}
		}
	}
}

func TestUnknownVerbs(t *testing.T) {
	for args, want := range map[string]string{
		"miror":               `did you mean "mirror"?`,
		"loign":               `did you mean "registry login"?`,
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
