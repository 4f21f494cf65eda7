package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/resources"
)

// choicesOf is the annotation of a flag that takes one of a few words.
const choicesOf = "gantry_choices"

// offer notes which words a flag takes, where they are the verb's own.
func offer(f *pflag.FlagSet, flag string, words []string) {
	f.Lookup(flag).Annotations = map[string][]string{choicesOf: words}
}

// addCompletion tells shells what the arguments and flags of a command, and of those
// below it, may be. Flags that it says nothing about take files.
func addCompletion(c *cobra.Command) {
	switch {
	case c.Name() == "mirror", c.Name() == "plan":
		c.ValidArgsFunction = complete(1, dockerScheme, fileScheme, ociScheme)
	case c.Name() == "verify":
		c.ValidArgsFunction = complete(0, dockerScheme, fileScheme, ociScheme)
	case c.CommandPath() == "gantry serve", c.HasParent() && c.Parent().Name() == "archive":
		c.ValidArgsFunction = complete(0, fileScheme)
	}
	if c.Flags().Lookup("from") != nil {
		_ = c.RegisterFlagCompletionFunc("from", complete(0, fileScheme)) // it is there, and new
	}
	for name, words := range map[string][]string{
		"on-error":             onErrors(),
		"mirror-source-policy": resources.SourcePolicies(),
		"volume-size":          {"cd", "fat32", "dvd", "dvd-dl", "bd", "bd-dl"},
		"log-level":            {"error", "warn", "info", "debug", "trace"},
		"log-format":           {outputText, outputJSON},
		"progress":             {progressAuto, progressBar, progressLines, progressJSON, progressNone},
		"output":               {outputText, outputJSON},
	} {
		flag := c.Flags().Lookup(name)
		if flag == nil {
			flag = c.PersistentFlags().Lookup(name)
		}
		if flag == nil {
			continue
		}
		if own := flag.Annotations[choicesOf]; own != nil {
			words = own
		}
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the same
	}
	for _, sub := range c.Commands() {
		addCompletion(sub)
	}
}

// complete completes up to so many arguments, 0 being any number, that begin with one
// of the schemes: first that, then the folders that follow it.
func complete(most int, schemes ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		const plain = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		if most > 0 && len(args) >= most {
			return nil, plain
		}
		var found []string
		for _, scheme := range schemes {
			switch rest, whole := strings.CutPrefix(typed, scheme); {
			case whole && scheme == dockerScheme: // what follows is at no place where it could be looked up
				return nil, plain
			case whole:
				return foldersLike(scheme, rest), plain
			case strings.HasPrefix(scheme, typed):
				found = append(found, scheme)
			}
		}
		return found, plain
	}
}

// foldersLike are those whose paths begin as typed, behind a scheme.
func foldersLike(scheme, typed string) []string {
	under, begin := filepath.Split(typed)
	look := under
	if look == "" {
		look = "."
	}
	entries, err := os.ReadDir(look)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), begin) {
			names = append(names, scheme+under+e.Name())
		}
	}
	return names
}
