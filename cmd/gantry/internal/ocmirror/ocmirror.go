// Package ocmirror translates command lines of oc mirror, version 1 and 2, into those of Gantry.
//
// One table has every flag of that tool: the kind of its value, the commands that have it, and what
// it is here: the same flag, another one, no effect and why, or refused and what to do instead.
// Translate parses a command line with that table, in any order of flags and arguments, and with the
// flags of Gantry's own command where oc mirror has none of the name. A flag never gets a meaning
// other than the one it has in oc mirror, and one without effect is answered with one line. The help,
// the completion, the hints of Gantry's own commands and the documentation use the same table.
package ocmirror

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// layout is the layout of files that Translate requests, unless the command line names another.
const layout = "oc-mirror"

// names are the names under which the program takes the command lines of oc mirror. oc runs its
// plugins as kubectl-NAME or oc-NAME.
var names = []string{"oc-mirror", "kubectl-mirror"}

// Name returns the name of a program without its folder and suffix, and whether it takes the command
// lines of oc mirror under that name.
func Name(program string) (name string, ok bool) {
	name = filepath.Base(program)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".EXE")
	return name, slices.Contains(names, name)
}

// Options are what a translation depends on apart from the command line.
type Options struct {
	// Name is the name that the program was called by, and Version the version of Gantry.
	Name, Version string
	// Flags returns the flags of a command of Gantry, such as "list operators", or nil.
	Flags func(command string) *pflag.FlagSet
	// Getenv reads the environment.
	Getenv func(string) string
	// Typed asks for the command that a person would type: without the folders and defaults that
	// oc mirror has.
	Typed bool
}

// A Command is a command line of Gantry.
type Command struct {
	Args []string
	// Notes has one line for each flag without effect.
	Notes []string
	// Env are variables that the command has in its environment.
	Env map[string]string
	// Help is a text to print. If it is set, nothing else is.
	Help string
	// Version is the text that version prints; "" for other commands.
	Version string
}

// Translate translates the arguments of oc mirror. Its errors are of kind Input.
func Translate(args []string, o Options) (Command, error) {
	l, err := parse(args, o)
	if err != nil {
		return Command{}, err
	}
	if l.help {
		return Command{Help: help(l.verb, o.Name, l.all)}, nil
	}
	if l.verb == Mirror && l.asksVersion() {
		l.verb, l.flags, l.asks = Version, nil, true
	}
	if l.Typed && (l.verb != Mirror && len(l.args) > 1 || l.verb == Mirror && len(l.args) != 1) {
		return Command{}, refuse("run "+o.Name+" --help", "this is no command line of oc mirror")
	}
	switch l.verb {
	case Mirror:
		err = l.mirror()
	case Delete:
		err = l.delete()
	case ListOperators:
		err = l.listOperators()
	case ListReleases:
		err = l.listReleases()
	case ListUpdates:
		err = l.listUpdates()
	case Describe:
		err = l.describe()
	case Init, Version:
		err = l.print()
	}
	if err != nil {
		return Command{}, err
	}
	_, own := l.verb.words()
	if slices.ContainsFunc(l.args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		l.out = append(l.out, "--") // the command line has it, too
	}
	c := Command{Args: slices.Concat(strings.Fields(own), l.out, l.args), Notes: l.notes, Env: l.env}
	if l.verb == Version {
		c.Version = l.versionText()
	}
	return c, nil
}
