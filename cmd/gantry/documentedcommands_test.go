package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestDocumentedCommands reads the flags and arguments of every command line in the documentation, as the program
// would: what is copied from there is not refused.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/[0-9]*.md")
	fail.On(t, err)
	found := 0
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		fail.On(t, err)
		for line, args := range documentedCommands(string(text)) {
			found++
			if err := parses(args); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(file), line, err)
			}
		}
	}
	if found < 100 {
		t.Errorf("found only %d command lines", found)
	}
}

// parses returns the error with which a command refuses its arguments, before it does anything.
func parses(args []string) error {
	root := (&app{}).command(named(args))
	root.InitDefaultCompletionCmd(args...)
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("%q is not a command", rest[0])
	}
	_ = c.InheritedFlags() // adds them
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

var (
	fence     = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	commented = regexp.MustCompile(`(^|\s)#.*`)
	word      = regexp.MustCompile(`[0-9]?[|&;<>]+|(?:[^\s'"|&;<>]|'[^']*'|"[^"]*")+`)
)

// documentedCommands returns the arguments of the command lines of gantry in the blocks of a chapter, by line.
func documentedCommands(text string) map[string][]string {
	commands := map[string][]string{}
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			if !strings.HasPrefix(line, "gantry ") || strings.Contains(line, "...") {
				continue
			}
			var args []string
			for _, w := range word.FindAllString(commented.ReplaceAllString(line, ""), -1)[1:] {
				if strings.ContainsAny(w, "|&;<>") && !strings.ContainsAny(w, `'"`) {
					break
				}
				args = append(args, strings.NewReplacer("'", "", `"`, "").Replace(w))
			}
			commands[line] = args
		}
	}
	return commands
}
