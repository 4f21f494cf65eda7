package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// eachCommand calls do for every command, with those above it first.
func eachCommand(do func(c *cobra.Command)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		do(c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).command(everyVerb))
}

// TestHelp checks that the help of every command begins with examples and has the usage and the exit
// status, in at most 60 lines and with at most 20 flags, that the complete help describes every flag, and that at most 16
// commands are listed, all in a group.
func TestHelp(t *testing.T) {
	listed := 0
	eachCommand(func(c *cobra.Command) {
		_, short, _ := strings.Cut(helpText(c, false), "\nFlags:\n")
		short, _, _ = strings.Cut(short, "\n\n")
		if n := len(strings.Split(short, "\n")); n > 20 {
			t.Errorf("%s --help describes %d flags:\n%s", c.CommandPath(), n, short)
		}
		if c.Name() == "help" || strings.Contains(c.CommandPath(), " completion") || c.Hidden { // the first are cobra's
			return
		}
		if c.HasParent() && !c.Parent().HasParent() {
			listed++
			if c.GroupID == "" {
				t.Errorf("%s is in no group", c.CommandPath())
			}
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		o := runGantry(t, "", args...)
		if n := strings.Count(o.stdout, "\n"); n > 60 || o.code != exitOK {
			t.Errorf("%s --help ended with %d and has %d lines", c.CommandPath(), o.code, n)
		}
		if !strings.HasPrefix(o.stdout, "Examples:\n  gantry ") || !strings.Contains(o.stdout, "EXIT STATUS") || !strings.Contains(o.stdout, "Usage:\n  "+c.CommandPath()) {
			t.Errorf("%s --help does not begin with examples, or lacks its usage or exit status:\n%s", c.CommandPath(), o.stdout)
		}
		o = runGantry(t, "", append(args, "--all")...)
		lines := strings.Split(o.stdout, "\n")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			described := slices.ContainsFunc(lines, func(line string) bool {
				_, rest, found := strings.Cut(line, "--"+f.Name+" ")
				return found && strings.HasPrefix(line, "  ") && strings.Contains(rest, f.Usage)
			})
			if described == (f.Hidden || f.Name == "help") {
				t.Errorf("%s --help --all: --%s is described: %t", c.CommandPath(), f.Name, described)
			}
		})
	})
	if listed == 0 || listed > 16 {
		t.Errorf("gantry --help lists %d commands", listed)
	}
}

// TestHelpGroups checks the complete help of gantry mirror, which has flags of every group.
func TestHelpGroups(t *testing.T) {
	o := runGantry(t, "", "mirror", "--help", "--all")
	rest := o.stdout
	for _, group := range []string{"Flags:", "--config", "--volume-size", "Content:", "--platforms-mode", "Source:", "--src-authfile", "Destination:", "--dest-authfile", "Archive:", "--redundancy", "Trust:", "--verify-key", "Reports:", "--metrics-file", "Tuning:", "--retry-times", "Flags of every command:", "--quiet"} {
		_, after, found := strings.Cut(rest, group)
		if !found {
			t.Fatalf("%s is missing, or in another order:\n%s", group, o.stdout)
		}
		rest = after
	}
}

// TestUnknownVerbs checks that verbs which Gantry does not have are answered with those that it
// has, whatever flags they are given.
func TestUnknownVerbs(t *testing.T) {
	for args, want := range map[string]string{
		"inspect docker://quay.io/a": "gantry archive inspect",
		"copy a b --all":             "gantry mirror",
		"sync -c x.yaml":             "gantry mirror",
		"miror":                      `did you mean "mirror"?`,
		"loign":                      `did you mean "registry login"?`,
		"config chekc":               `did you mean "check"?`,
		"quux --output json":         `unknown command \"quux\"`,
		"plan --all":                 "gantry plan --help --all",
	} {
		if o := runGantry(t, "", strings.Fields(args)...); o.code != exitUsage || !strings.Contains(o.stderr, want) || o.stdout != "" {
			t.Errorf("gantry %s: %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	root := (&app{}).command(everyVerb)
	for verb, hint := range instructions() {
		for _, words := range strings.Split(hint, "gantry ")[1:] {
			name, _, _ := strings.Cut(words, " ")
			if c, _, err := root.Find([]string{name}); err != nil || c == root || c.Hidden {
				t.Errorf("gantry %s names gantry %s, which does not exist", verb, name)
			}
		}
	}
}
