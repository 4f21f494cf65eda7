package ocmirror

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
)

// A given is a flag of a command line.
type given struct {
	*Flag        // nil for one of Gantry's own
	raw   string // as Gantry reads it, if it is one of its own
	value string
}

// A line is a command line that is being translated.
type line struct {
	Options
	verb  Verb
	help  bool
	all   bool // with help: every flag
	asks  bool // for the version, without a verb
	flags []given
	args  []string
	rest  []string // what was not parsed yet

	out   []string // flags of Gantry
	notes []string
	env   map[string]string
}

// parse reads a command line of oc mirror.
func parse(args []string, o Options) (*line, error) {
	l := &line{Options: o, verb: Mirror, rest: args, env: map[string]string{}}
	named := false // the verb
	for len(l.rest) > 0 {
		word := l.next()
		var err error
		switch {
		case word == "--":
			l.args, l.rest = append(l.args, l.rest...), nil
		case word == "--help" || word == "-h":
			l.help = true
		case word == "--all":
			l.all = true
		case strings.HasPrefix(word, "--"):
			err = l.long(word[2:])
		case strings.HasPrefix(word, "-") && len(word) > 1:
			err = l.short(word[1:])
		case word == "help" && !named && len(l.args) == 0:
			l.help = true
		case !named && len(l.args) == 0:
			named, err = l.command(word)
		default:
			l.args = append(l.args, word)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.verb == lists && !l.help {
		return nil, refuse(whatToList, "nothing to list")
	}
	if l.all && !l.help {
		return nil, refuse("run "+l.Name+" --help --all", "--all is for --help")
	}
	return l, l.checkVerb()
}

// next returns the next word.
func (l *line) next() string {
	word := l.rest[0]
	l.rest = l.rest[1:]
	return word
}

// command reads the first argument, and after list the second: the verb, or an argument of Mirror. It
// reports whether the verb is known then.
func (l *line) command(word string) (done bool, err error) {
	typed := word
	if l.verb == lists {
		typed = "list " + word
	}
	for _, known := range verbs {
		if known.words == typed && typed != "" {
			l.verb = known.verb
			return true, nil
		}
	}
	switch {
	case l.verb == lists:
		return false, refuse(whatToList, "unknown command %q", typed)
	case word == "list":
		l.verb = lists
	default:
		l.args = append(l.args, word)
	}
	return false, nil
}

const whatToList = "write list operators, list releases or list updates"

// Earlier is the annotation of a flag of an earlier version of Gantry, which is accepted without being
// listed in help.
const Earlier = "gantry_earlier"

// isListed reports whether a flag of Gantry is in its help, or was in the help of an earlier version.
func isListed(f *pflag.Flag) bool { return !f.Hidden || f.Annotations[Earlier] != nil }

// long reads a flag after its dashes.
func (l *line) long(text string) error {
	name, value, has := strings.Cut(text, "=")
	if f := find(l.verb, name); f != nil && f.Name == name {
		return l.set(f, "--"+name, value, has)
	}
	if own := l.own(); own != nil {
		if f := own.Lookup(name); f != nil && isListed(f) {
			return l.setOwn(f, "--"+text, has)
		}
	}
	if f, ok := Lookup(name); ok {
		return refuse("leave it out", "--%s is a flag of %s", name, f.Verbs)
	}
	return l.unknown("--"+name, name)
}

// short reads flags of one letter.
func (l *line) short(letters string) error {
	for letters != "" {
		name := letters[:1]
		letters = letters[1:]
		value, has := strings.TrimPrefix(letters, "="), letters != ""
		f := find(l.verb, name)
		switch own := l.own(); {
		case f != nil && f.Takes == Bool && !strings.HasPrefix(letters, "="):
			if err := l.set(f, "-"+name, "", false); err != nil {
				return err
			}
			continue
		case f != nil:
			return l.set(f, "-"+name, value, has)
		case own != nil && own.ShorthandLookup(name) != nil:
			flag := own.ShorthandLookup(name)
			if flag.NoOptDefVal == "" || strings.HasPrefix(letters, "=") {
				return l.setOwn(flag, "-"+name+letters, has)
			}
			if err := l.setOwn(flag, "-"+name, false); err != nil {
				return err
			}
			continue
		}
		return l.unknown("-"+name, "")
	}
	return nil
}

// own returns the flags of Gantry's command for the verb, or nil.
func (l *line) own() *pflag.FlagSet {
	_, command := l.verb.words()
	if command == "" || l.Flags == nil {
		return nil
	}
	return l.Flags(command)
}

// set records a flag of oc mirror. shown is how it was written.
func (l *line) set(f *Flag, shown, value string, has bool) error {
	switch {
	case has:
	case f.Takes == Bool || f.Takes == Level:
		value = ""
		if f.Takes == Bool {
			value = "true"
		}
		if len(l.rest) > 0 && detached(f.Takes, l.rest[0]) {
			value = l.next()
		}
	case len(l.rest) == 0:
		return refuse("give it a value, or leave it out", "%s has no value", shown)
	default:
		value = l.next()
	}
	if value != "" || f.Takes != Level {
		if want := f.Takes.check(value); want != "" {
			return refuse("give "+want, "%s %q", shown, value)
		}
	}
	l.flags = append(l.flags, given{Flag: f, value: value})
	return nil
}

// detached reports whether a word after a flag whose value is optional is its value: no argument of a
// command looks like that.
func detached(kind Kind, word string) bool {
	if kind == Bool {
		return word == "true" || word == "false"
	}
	return kind.check(word) == ""
}

// setOwn records a flag of Gantry.
func (l *line) setOwn(f *pflag.Flag, text string, has bool) error {
	l.flags = append(l.flags, given{raw: text})
	if has || f.NoOptDefVal != "" {
		return nil
	}
	if len(l.rest) == 0 {
		return refuse("give it a value, or leave it out", "%s has no value", text)
	}
	l.flags = append(l.flags, given{raw: l.next()})
	return nil
}

// unknown returns the error for a flag that neither tool has.
func (l *line) unknown(shown, name string) error {
	var all []string
	for _, f := range flags {
		if f.Verbs&l.verb != 0 {
			all = append(all, "--"+f.Name)
		}
	}
	if own := l.own(); own != nil {
		own.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				all = append(all, "--"+f.Name)
			}
		})
	}
	hint := "run " + l.Name + " --help"
	if near := suggest.Phrase("--"+name, all); near != "" && name != "" {
		hint = near + "; " + hint
	}
	return refuse(hint, "unknown flag: %s", shown)
}

// checkVerb returns an error if the verb does not have a flag that was given before it.
func (l *line) checkVerb() error {
	for _, g := range l.flags {
		if g.Flag == nil || g.Verbs&l.verb != 0 || l.help {
			continue
		}
		return refuse("leave it out", "--%s is a flag of %s", g.Name, g.Verbs)
	}
	return nil
}

// String returns the names of the commands in a set.
func (v Verb) String() string {
	var all []string
	for _, known := range verbs {
		switch {
		case v&known.verb == 0:
		case known.verb == Mirror:
			all = append(all, "mirroring")
		default:
			all = append(all, known.words)
		}
	}
	return plural(all)
}

// refuse returns an error about the command line.
func refuse(hint, format string, args ...any) error {
	return advice.New(advice.Input, hint, format, args...)
}
