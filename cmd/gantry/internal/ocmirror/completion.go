package ocmirror

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// IsCompletion reports whether a command line prints a completion script, or completes a word.
func IsCompletion(args []string) bool {
	words := slices.DeleteFunc(slices.Clone(args), func(word string) bool { return word == "--v2" || word == "--v1" })
	return len(words) > 0 && slices.Contains([]string{"completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, words[0])
}

// Completion returns a command that only completes command lines of oc mirror and prints completion
// scripts. complete completes destinations.
func Completion(name string, complete cobra.CompletionFunc) *cobra.Command {
	root := &cobra.Command{
		Use: name, SilenceErrors: true, SilenceUsage: true, Args: cobra.ArbitraryArgs, ValidArgsFunction: complete,
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	for _, name := range []string{"v1", "v2"} { // completion has them, too
		root.PersistentFlags().Bool(name, false, "the version of oc mirror")
	}
	commands := map[string]*cobra.Command{"": root}
	for _, known := range verbs {
		at, parent := root, ""
		for word := range strings.FieldsSeq(known.words) {
			parent = strings.TrimSpace(parent + " " + word)
			next := commands[parent]
			if next == nil {
				next = &cobra.Command{Use: word, Short: summary(parent), RunE: root.RunE}
				commands[parent] = next
				at.AddCommand(next)
			}
			at = next
		}
		for i := range flags {
			f := &flags[i]
			if f.Verbs&known.verb == 0 || f.Name == "v1" || f.Name == "v2" || at.Flags().Lookup(f.Name) != nil {
				continue
			}
			usage := plainText(f.Becomes())
			if f.Takes == Bool {
				at.Flags().BoolP(f.Name, f.Short, false, usage)
				continue
			}
			at.Flags().StringP(f.Name, f.Short, "", usage)
			if f.Takes == Level {
				at.Flags().Lookup(f.Name).NoOptDefVal = "1"
			}
		}
	}
	_ = root.RegisterFlagCompletionFunc("from", complete) // the flag exists and has no completion yet
	return root
}

// summary returns what a command does, for the completion.
func summary(words string) string {
	for _, f := range forms {
		if typed, _ := f.verb.words(); typed == words {
			return f.gantry
		}
	}
	return "list operators, releases or updates"
}
