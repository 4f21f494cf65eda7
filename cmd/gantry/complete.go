package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/admission"
)

// choicesOf is the annotation of a flag with a fixed set of values.
const choicesOf = "gantry_choices"

// offer sets the values that a flag of a verb takes.
func offer(f *pflag.FlagSet, flag string, words []string) {
	f.Lookup(flag).Annotations = map[string][]string{choicesOf: words}
}

// addCompletion adds shell completion for the arguments and flags of a command and its
// subcommands. Other flags complete files.
func addCompletion(c *cobra.Command) {
	switch {
	case c.Name() == "mirror", c.Name() == "plan":
		c.ValidArgsFunction = complete(1, dockerScheme, fileScheme, ociScheme)
	case c.Name() == "verify":
		c.ValidArgsFunction = complete(0, dockerScheme, fileScheme, ociScheme)
	case c.CommandPath() == "gantry get", c.CommandPath() == "gantry pull":
		c.ValidArgsFunction = complete(0, dockerScheme, fileScheme, ociScheme)
	case c.CommandPath() == "gantry registry prepare":
		c.ValidArgsFunction = complete(1, dockerScheme)
	case c.CommandPath() == "gantry serve", c.HasParent() && c.Parent().Name() == "archive":
		c.ValidArgsFunction = complete(0, fileScheme)
	}
	if c.Flags().Lookup("from") != nil {
		_ = c.RegisterFlagCompletionFunc("from", complete(0, fileScheme)) // it is there, and new
	}
	completeFlags(c)
	for _, sub := range c.Commands() {
		addCompletion(sub)
	}
}

// completeFlags adds shell completion for the flags of a command with a fixed set of values.
func completeFlags(c *cobra.Command) {
	for name, words := range map[string][]string{
		"on-error":             copying.OnErrors(),
		blobsFlag:              {blobsCheck, blobsRead},
		"on-strand":            admission.OnStrands(),
		"layout":               workspace.Layouts(),
		"registry-kind":        repositories.Kinds(),
		"mirror-source-policy": resources.SourcePolicies(),
		"volume-size":          {"cd", "fat32", "dvd", "dvd-dl", "bd", "bd-dl"},
		"redundancy":           {"5%", "10%", "20%"},
		"delta":                mirroring.Deltas(),
		"compact":              mirroring.Deltas(),
		"disk-speed":           {"10MB", "30MB", "100MB"},
		"delta-time":           {"500ms", "1s", "5s"},
		"log-level":            {"error", "warn", "info", "debug", "trace"},
		"log-format":           {outputText, outputJSON},
		"progress":             {progressAuto, progressBar, progressLines, progressJSON, progressNone},
		"output":               {outputText, outputJSON},
	} {
		flag := cmp.Or(c.Flags().Lookup(name), c.PersistentFlags().Lookup(name))
		if flag == nil {
			continue
		}
		if own := flag.Annotations[choicesOf]; own != nil {
			words = own
		}
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the same
	}
}

// complete completes up to limit arguments that begin with one of the schemes: first the scheme, then
// folders. A limit of 0 is any number.
func complete(limit int, schemes ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		const plain = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		if limit > 0 && len(args) >= limit {
			return nil, plain
		}
		var found []string
		for _, scheme := range schemes {
			switch rest, whole := strings.CutPrefix(typed, scheme); {
			case whole && scheme == dockerScheme: // nothing on this machine to complete
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

// foldersLike returns the folders whose paths begin as typed, with the scheme.
func foldersLike(scheme, typed string) []string {
	under, begin := filepath.Split(typed)
	look := cmp.Or(under, ".")
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

// completeImageSets completes the names of the image sets that the workspace knows.
func completeImageSets(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	folder, err := c.Flags().GetString("workspace")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	status, err := workspace.Status(folder)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, r := range status.Runs {
		if strings.HasPrefix(r.Name, typed) && r.Name != "" && !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}
