//go:build man

package main

import (
	"cmp"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// addManual adds the command that writes the manual pages. Only make man builds it, to keep the
// Markdown library out of the program.
func (a *app) addManual(root *cobra.Command) {
	root.AddCommand(&cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages, one per command",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := a.command(everyVerb)
			root.DisableAutoGenTag = true
			root.InitDefaultCompletionCmd()
			prepareManual(root)
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Gantry", Manual: "Gantry"}, args[0])
		},
	})
}

// prepareManual converts the texts of a command and its subcommands to Markdown.
func prepareManual(c *cobra.Command) {
	c.Long = asMarkdown(cmp.Or(c.Long, c.Short+"."))
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { f.Usage = literal.Replace(f.Usage) })
	c.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Usage = literal.Replace(f.Usage) })
	for _, below := range c.Commands() {
		prepareManual(below)
	}
}

// literal escapes Markdown.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`)

var heading = regexp.MustCompile(`^[A-Z][A-Z ]+$`)

// asMarkdown converts the long help of a command. A line in capitals is a heading; indented lines are
// preformatted.
func asMarkdown(help string) string {
	var b strings.Builder
	verbatim := false
	for line := range strings.Lines(help) {
		line = strings.TrimSuffix(line, "\n")
		indented := strings.HasPrefix(line, "  ")
		if indented != verbatim && line != "" {
			b.WriteByte('\n')
			verbatim = indented
		}
		switch {
		case indented:
			line = "  " + line
		case heading.MatchString(line):
			line = "# " + line + "\n"
		default:
			line = literal.Replace(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
