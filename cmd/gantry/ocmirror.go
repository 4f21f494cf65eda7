package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/cmd/gantry/internal/ocmirror"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
)

// Under the name oc-mirror, the program takes the command lines of oc mirror. Package ocmirror
// translates them. Under its own name, it refuses flags of oc mirror that it does not have, with what
// to do instead.

// commandLine returns the command to run and its arguments.
func (a *app) commandLine(args []string) (*cobra.Command, []string, error) {
	name, ok := ocmirror.Name(a.calledAs)
	if !ok {
		root := a.command(named(args))
		return root, args, a.withoutVerb(root, args)
	}
	if ocmirror.IsCompletion(args) {
		return ocmirror.Completion(name, complete(1, dockerScheme, fileScheme)), args, nil
	}
	to, err := ocmirror.Translate(args, ocmirror.Options{Name: name, Version: buildVersion(), Flags: flagsOf(a.command(everyVerb)), Getenv: a.getenv})
	if err != nil {
		return nil, nil, err
	}
	if to.Help != "" {
		return &cobra.Command{Use: name, RunE: func(*cobra.Command, []string) error { return a.exact(to.Help) }}, []string{}, nil
	}
	a.notes, a.setenv, a.versionText = to.Notes, to.Env, to.Version
	return a.command(named(to.Args)), to.Args, nil
}

// flagsOf returns a function that returns the flags of the command with this path below root, and nil
// if there is none.
func flagsOf(root *cobra.Command) func(string) *pflag.FlagSet {
	return func(path string) *pflag.FlagSet {
		c, rest, err := root.Find(strings.Fields(path))
		if err != nil || len(rest) > 0 {
			return nil
		}
		_ = c.InheritedFlags() // adds them to Flags
		return c.Flags()
	}
}

// withoutVerb returns an error with the command to type if a command line is one of oc mirror: it has
// --v2, or a destination and no verb.
func (a *app) withoutVerb(root *cobra.Command, args []string) error {
	if c, _, err := root.Find(args); len(args) == 0 || err == nil && c != root || instructions()[args[0]] != "" {
		return nil // the verb may follow flags
	}
	rest := slices.DeleteFunc(slices.Clone(args), func(word string) bool { return word == "--v1" || word == "--v2" })
	hasDestination := slices.ContainsFunc(rest, func(word string) bool {
		return strings.HasPrefix(word, dockerScheme) || strings.HasPrefix(word, fileScheme)
	})
	if len(rest) == len(args) && !hasDestination {
		return nil
	}
	words := rest
	if !slices.ContainsFunc(a.verbs(), func(v verb) bool { return len(rest) > 0 && v.name == rest[0] }) {
		to, err := ocmirror.Translate(rest, ocmirror.Options{Name: "gantry", Flags: flagsOf(a.command(everyVerb)), Typed: true})
		switch {
		case err != nil && len(rest) == len(args):
			return nil // it is not one of oc mirror: its own error is better
		case err != nil:
			return err
		case to.Help != "":
			to.Args = []string{"--help"}
		}
		words = to.Args
	}
	shown := make([]string, len(words))
	for i, word := range words {
		shown[i] = view.ShellWord(word)
	}
	return usageHint("run gantry "+strings.Join(shown, " "), "this is a command line of oc mirror")
}

// unneeded are the flags of oc mirror that gantry mirror accepts, too. They have no effect.
var unneeded = [...]string{"v2", "image-timeout", "port", "rootless-storage-path"}

// addUnneeded adds the flags of oc mirror that have no effect here.
func addUnneeded(f *pflag.FlagSet) {
	for _, name := range unneeded {
		flag, ok := ocmirror.Lookup(name)
		switch {
		case !ok:
			continue
		case flag.Takes == ocmirror.Bool:
			f.BoolP(name, flag.Short, false, "")
		case flag.Takes == ocmirror.Duration:
			f.Duration(name, 0, "")
		case flag.Takes == ocmirror.Int:
			f.Uint16P(name, flag.Short, 0, "")
		default:
			f.StringP(name, flag.Short, "", "")
		}
		f.Lookup(name).Hidden = true
	}
}

// sayUnneeded logs why each such flag that was set has no effect.
func (a *app) sayUnneeded(given *pflag.FlagSet) {
	for _, name := range unneeded {
		if flag, ok := ocmirror.Lookup(name); ok && given.Changed(name) && flag.Effect == ocmirror.Ignored {
			a.say("--%s has no effect: %s", name, flag.Text)
		}
	}
}

// withoutFlag returns what to do without a flag of other commands. What a command without --dry-run would delete is
// shown another way.
func withoutFlag(cmd *cobra.Command, name string) string {
	if name == "dry-run" && cmd.Flags().Lookup("yes") != nil {
		return "leave it out: without --yes, nothing is deleted"
	}
	return cmd.CommandPath() + " --help lists the flags"
}
