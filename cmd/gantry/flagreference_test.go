package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// flagReferenceFile has the flags of every command.
const flagReferenceFile = "../../docs/reference/flags.md"

// TestFlagReference compares docs/reference/flags.md with the flags of the commands, or writes it.
func TestFlagReference(t *testing.T) {
	t.Parallel()
	want := flagReference(&app{})
	if os.Getenv(updateScripts) != "" {
		fail.On(t, os.WriteFile(flagReferenceFile, []byte(want), 0o600))
	}
	have, err := os.ReadFile(flagReferenceFile)
	fail.On(t, err)
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("%s is out of date; set %s=1 to write it (-commands +file):\n%s", flagReferenceFile, updateScripts, diff)
	}
}

// flagReference returns a table of flags for each command that help lists, those of earlier versions
// last.
func flagReference(a *app) string {
	var b strings.Builder
	root := a.command(everyVerb)
	b.WriteString("# Flags\n\nThe tests write these tables. `gantry COMMAND --help --all` prints the same.\n\n## Every command\n\n")
	writeFlags(&b, root.PersistentFlags())
	b.WriteString("\n## Settings\n\nA file of settings may have these flags ([how](../18-scheduled-runs.md#settings-of-a-site)):\n\n")
	for i, s := range siteSettings {
		fmt.Fprintf(&b, "%s`%s`", map[bool]string{true: ", "}[i > 0], s.flag)
	}
	b.WriteString(".\n")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.HasParent() && c.Runnable() && c.LocalNonPersistentFlags().HasAvailableFlags() {
			fmt.Fprintf(&b, "\n## %s\n\n`%s`\n\n", c.CommandPath(), c.UseLine())
			writeFlags(&b, c.LocalNonPersistentFlags())
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(root)
	b.WriteString("\n## Earlier names\n\nThese work as before, and help and completion do not list them.\n\n| Earlier | Now |\n|---|---|\n")
	for _, v := range a.verbs() {
		if v.now != "" {
			fmt.Fprintf(&b, "| `gantry %s` | `gantry %s` |\n", v.name, v.now)
		}
	}
	b.WriteString("| `gantry graph release` | `gantry release graph` |\n")
	var earlier func(c *cobra.Command)
	earlier = func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if now, ok := strings.CutPrefix(f.Usage, "the same as "); ok && f.Hidden && !c.Hidden {
				fmt.Fprintf(&b, "| `%s --%s` | `%s` |\n", c.CommandPath(), f.Name, now)
			}
		})
		for _, sub := range c.Commands() {
			earlier(sub)
		}
	}
	earlier(root)
	return b.String()
}

// writeFlags writes a table of the flags that help describes.
func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	fmt.Fprintf(b, "| Flag | Default | |\n|---|---|---|\n")
	escape := strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`, "\n", " ")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			name = strings.TrimSuffix(name, "`") + " " + value + "`"
		}
		def := f.DefValue
		switch def {
		case "", "false", "0", "[]", "0s":
			def = ""
		default:
			def = "`" + def + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, def, escape.Replace(usage))
	})
}
