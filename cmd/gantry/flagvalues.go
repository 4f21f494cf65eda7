package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
)

// addFile adds the flag that names the file or folder of a verb, and -o. -o is an output format like
// everywhere else, but a value with other characters than letters is also accepted as the file: earlier
// versions took only that.
func (a *app) addFile(f *pflag.FlagSet, file *string, name, usage string) {
	f.StringVar(file, name, "", usage)
	f.VarP(&formatOrFile{format: &a.output, file: f.Lookup(name)}, "output", "o", outputHelp)
	offer(f, "output", []string{outputText, outputJSON})
}

// formatOrFile is the value of -o of a verb that also takes a file there.
type formatOrFile struct {
	format *string
	file   *pflag.Flag
}

func (v *formatOrFile) String() string {
	if v.format == nil {
		return ""
	}
	return *v.format
}

func (v *formatOrFile) Type() string { return "string" }

func (v *formatOrFile) Set(s string) error {
	switch {
	case s == outputText || s == outputJSON:
		*v.format = s
		return nil
	case !strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') }):
		// "xml" is probably meant as a format.
		return fmt.Errorf("use text or json, or --%s %s if it is the name of a file", v.file.Name, s)
	case v.file.Changed && v.file.Value.String() != s:
		return fmt.Errorf("it names another file than --%s %s", v.file.Name, v.file.Value)
	}
	v.file.Changed = true
	return v.file.Value.Set(s)
}

// singleFlags are the flags that name what a verb reads or writes. If one were given twice, the first
// value would be ignored silently.
func singleFlags() []string {
	return []string{
		"config", "plan", "repair", "lock", "to", "from", "write-receipt", "output-dir", "digest", "catalog", "package", "channel", "version",
		"since", "volume-size", "arch",
	}
}

// countSingle makes the flags with one value in a command and its subcommands count how often they
// are given.
func countSingle(c *cobra.Command) {
	for _, name := range singleFlags() {
		if flag := c.Flags().Lookup(name); flag != nil && flag.Value.Type() == "string" {
			flag.Value = &single{Value: flag.Value}
		}
	}
	for _, below := range c.Commands() {
		countSingle(below)
	}
}

// single is the value of a flag that may be given only once. Completion sets each value twice, so
// that Set only counts.
type single struct {
	pflag.Value
	times int
}

func (v *single) Set(s string) error {
	v.times++
	return v.Value.Set(s)
}

// repeatable adds a flag that may be repeated, like StringArrayVar, whose values allocate 4 KiB each
// when the flag is added.
func repeatable(f *pflag.FlagSet, values *[]string, name, usage string) {
	f.Var((*repeated)(values), name, usage)
}

// repeated are the values of a flag that may be repeated.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, ", ") }
func (r *repeated) Type() string   { return "stringArray" }

func (r *repeated) Set(s string) error {
	*r = append(*r, s)
	return nil
}

// archives are the folders of archives, file://DIR, in a flag that may be repeated. One value may
// contain several, with commas between them. A comma separates them only before file://, so that the
// names of folders may contain any character.
type archives []string

func (a *archives) String() string { return strings.Join(*a, ",") }
func (a *archives) Type() string   { return "stringSlice" }

func (a *archives) Set(s string) error {
	for {
		i := strings.Index(s, ","+fileScheme)
		if i < 0 {
			*a = append(*a, s)
			return nil
		}
		*a = append(*a, s[:i])
		s = s[i+1:]
	}
}

// parsedFlag adds a flag whose value has a form of its own, of a type as help names it, and with a default as help shows it.
func parsedFlag[T any](f *pflag.FlagSet, value *T, name, kind, initial string, parse func(string) (T, error), usage string) {
	f.Var(&parsed[T]{value, initial, kind, parse}, name, usage)
}

// parsed is the value of a flag that a function reads.
type parsed[T any] struct {
	value      *T
	text, kind string
	parse      func(string) (T, error)
}

func (p *parsed[T]) String() string { return p.text }
func (p *parsed[T]) Type() string   { return p.kind }
func (p *parsed[T]) Set(s string) (err error) {
	p.text = s
	*p.value, err = p.parse(s)
	return err
}

// A formError is the error of a flag whose value has a form of its own: it says what to write.
type formError struct{ error }

func (e *formError) Unwrap() error { return e.error }

// optional reads a value with a function whose errors say what to write. An empty text is no value.
func optional[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (value T, err error) {
		if s != "" {
			if value, err = parse(s); err != nil {
				err = &formError{err}
			}
		}
		return value, err
	}
}

// wholeNumber reads a number within limits. The error is hint.
func wholeNumber(s string, least, most int, hint string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, errors.New(hint)
	}
	return n, nil
}

// parsePercentage reads a whole number from 1 to 100, with or without a percent sign.
func parsePercentage(s string) (int, error) {
	return wholeNumber(strings.TrimSuffix(s, "%"), 1, 100, "give a whole number from 1% to 100%, such as 10%")
}

// emptyHints are the hints for flags that need a value. An unset variable of a script must not disable a check.
var emptyHints = map[string]string{ //nolint:gosec // no credentials: names of flags
	gateFlag: "name a program, or leave it out", gatePlanFlag: "name a program, or leave it out",
	policyFlag: "name a file, or leave it out", registriesDFlag: "name a file, or leave it out", cosignFlag: "name a file, or leave it out",
	signKeyFlag: "name the file, or leave it out", allowedSignersFlag: "name the file, or leave it out", htpasswdFlag: "name the file, or leave it out",
	signerFlag: "name a signer, or leave it out", "delta": "use " + strings.Join(mirroring.Deltas(), ", "),
	"compact": "use " + strings.Join(mirroring.Deltas(), ", "),
}

// checkSingle returns an error if a flag with one value was given twice, or one that needs a value without it.
func checkSingle(given *pflag.FlagSet) error {
	var err error
	given.VisitAll(func(f *pflag.Flag) { // Visit leaves out those that -o set
		hint, needed := emptyHints[f.Name]
		v, ok := f.Value.(*single)
		switch {
		case ok && v.times > 1:
			err = usageHint("give it once", "--%s is given twice", f.Name)
		case needed && f.Changed && f.Value.String() == "":
			err = usageHint(hint, "--%s is empty", f.Name)
		}
	})
	return err
}

// refuseEmpty returns an error if one of these flags was given without a value, such as --forget "$NAME" with an unset
// variable: the command would delete other content.
func refuseEmpty(f *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if f.Changed(name) && f.Lookup(name).Value.String() == "" {
			return usageHint("set a value, or leave the flag out", "--%s has no value", name)
		}
	}
	return nil
}
