package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// documentation are the pages that people read. Those in docs/reference are generated.
var documentation = []string{"../../*.md", "../../docs/*.md", recipePages}

// TestDocumentedCommands reads the flags and arguments of every command line in the documentation, as the program
// would: what is copied from there is not refused. Of the commands in sentences, only the flags are read.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	lines, mentions := 0, 0
	for file, text := range documentationTexts(t) {
		for line, args := range documentedCommands(text) {
			lines++
			check := parses
			if strings.Contains(line, "...") {
				check = parsesFlags
			}
			if err := check(args); err != nil {
				t.Errorf("%s: %s: %v", file, line, err)
			}
		}
		if file == "CHANGELOG.md" { // has flags that were renamed since
			continue
		}
		for _, mention := range mentioned.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			mentions++
			if err := parsesFlags(documentedArguments(mention[1])); err != nil {
				t.Errorf("%s: %s: %v", file, mention[1], err)
			}
		}
	}
	if lines < 200 || mentions < 120 {
		t.Errorf("found only %d command lines and %d commands in sentences", lines, mentions)
	}
}

// documentationTexts returns the texts of the documentation, by name.
func documentationTexts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range documentation {
		files, err := filepath.Glob(pattern)
		fail.On(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			fail.On(t, err)
			all[strings.TrimPrefix(filepath.ToSlash(file), "../../")] = string(text)
		}
	}
	return all
}

// parsesFlags returns the error of a command that does not exist or does not have a flag. What the flags need and the
// arguments may be missing.
func parsesFlags(args []string) error {
	if len(args) == 0 || args[0] != strings.ToLower(args[0]) || strings.HasPrefix(args[0], "-") { // COMMAND
		return nil
	}
	c, rest, err := find(args)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(slices.DeleteFunc(rest, func(arg string) bool { return arg == "..." })); err != nil && !strings.Contains(err.Error(), "needs an argument") {
		return err
	}
	return nil
}

// find returns the command of a command line and what follows it.
func find(args []string) (c *cobra.Command, rest []string, err error) {
	root := (&app{}).command(named(args))
	root.InitDefaultCompletionCmd(args...)
	if c, rest, err = root.Find(args); err != nil {
		return nil, nil, err
	}
	if c == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return nil, nil, fmt.Errorf("%q is not a command", rest[0])
	}
	_ = c.InheritedFlags() // adds them
	return c, rest, nil
}

// parses returns the error with which a command refuses its arguments, before it does anything.
func parses(args []string) error {
	c, rest, err := find(args)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

var (
	fence     = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	commented = regexp.MustCompile(`(^|\s)#.*`)
	mentioned = regexp.MustCompile("`(?:kubectl )?(gantry [^`]+)`")
	separator = regexp.MustCompile(` && | \| |; |\$\(`)
	begun     = regexp.MustCompile(`^(?:\$ |- run: |\./|[A-Z_]+=\S+ )*(gantry .*)`)
	word      = regexp.MustCompile(`[0-9]?[|&;<>]+|(?:[^\s'"|&;<>]|'[^']*'|"[^"]*")+`)
)

// documentedCommands returns the arguments of the command lines of gantry in the blocks of a chapter, by line.
func documentedCommands(text string) map[string][]string {
	commands := map[string][]string{}
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			for _, command := range separator.Split(strings.TrimSpace(line), -1) {
				if m := begun.FindStringSubmatch(command); m != nil {
					commands[m[1]] = documentedArguments(m[1])
				}
			}
		}
	}
	return commands
}

// documentedArguments returns the arguments of a command line.
func documentedArguments(line string) (args []string) {
	for _, w := range word.FindAllString(commented.ReplaceAllString(line, ""), -1)[1:] {
		if strings.ContainsAny(w, "|&;<>") && !strings.ContainsAny(w, `'"`) {
			break
		}
		args = append(args, strings.NewReplacer("'", "", `"`, "").Replace(w))
	}
	return args
}
