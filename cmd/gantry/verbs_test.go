package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestOnlyNamedVerbs checks that a verb is built if and only if it is on the command line, and that
// lists of verbs are the same nevertheless.
func TestOnlyNamedVerbs(t *testing.T) {
	t.Parallel()
	flagsOf := func(c *cobra.Command) int {
		n := 0
		c.LocalNonPersistentFlags().VisitAll(func(*pflag.Flag) { n++ })
		return n
	}
	a := &app{}
	all, none := a.command(everyVerb), a.command(named([]string{"--version"}))
	for _, v := range a.verbs() {
		complete, _, err := all.Find([]string{v.name})
		if err != nil || complete.Name() != v.name || complete.Short == "" || v.short != "" && complete.Short != v.short || complete.Long == "" {
			t.Errorf("gantry %s is %q (%q), %v", v.name, complete.CommandPath(), complete.Short, err)
			continue
		}
		entry, _, err := none.Find([]string{v.name})
		if err != nil || entry.Name() != v.name || flagsOf(entry) != 0 || entry.HasSubCommands() {
			t.Errorf("gantry %s was built, but is not on the command line: %v", v.name, err)
		}
		for _, args := range [][]string{{v.name}, {"-o", "json", v.name, "--help"}, {"help", v.name}, {"__complete", v.name, ""}} {
			one := a.command(named(args))
			built, _, err := one.Find([]string{v.name})
			if err != nil || flagsOf(built) != flagsOf(complete) || len(built.Commands()) != len(complete.Commands()) {
				t.Errorf("gantry %s was not built for %q: %v", v.name, args, err)
			}
		}
	}
	fail.Diff(t, helpText(all, true), helpText(none, true))
}
